// SPDX-License-Identifier: Apache-2.0
// Raw files.
#include "raw_data.h"

#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_file(const char *path, uint64_t *size)
{
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st) != 0)
    tool_fail(EXIT_BAD_RUN, "E: %s: %s", path, strerror(errno));
  if (!S_ISREG(st.st_mode))
    tool_fail(EXIT_BAD_RUN, "E: %s: not a regular file", path);
  *size = (uint64_t)st.st_size;
  return fd;
}

static void read_at(int fd, const char *path, void *buffer, size_t bytes, uint64_t offset)
{
  for (size_t done = 0; done < bytes;) {
    ssize_t n = pread(fd, (char *)buffer + done, bytes - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      tool_fail(EXIT_BAD_RUN, "E: %s: %s", path, strerror(errno));
    if (n == 0)
      tool_fail(EXIT_BAD_RUN, "E: %s: ends at byte %" PRIu64 ", it was longer when opened", path,
                offset + done);
    done += (size_t)n;
  }
}

RawData raw_data_open(const char *path, const nnfw_tensorinfo *infos, uint32_t n_tensors,
                      uint32_t batch)
{
  RawData d = {.path = path, .n_tensors = n_tensors};
  uint64_t size = 0, all = 0; // bytes of the file, of a sample of all tensors
  d.fd = open_file(path, &size);
  d.sample_bytes = tool_alloc(n_tensors, sizeof *d.sample_bytes);
  d.begin = tool_alloc(n_tensors, sizeof *d.begin);
  d.buffers = tool_alloc(n_tensors, sizeof *d.buffers);
  for (uint32_t i = 0; i < n_tensors; ++i) {
    const nnfw_tensorinfo *info = &infos[i];
    if (info->rank < 1 || info->dims[0] < 0 || (uint32_t)info->dims[0] != batch)
      tool_fail(EXIT_BAD_RUN, "E: %s: tensor %u does not have the batch size %u as first dimension",
                path, i, batch);
    d.sample_bytes[i] = tool_tensor_bytes(info) / batch;
    d.buffers[i] = tool_alloc(batch, d.sample_bytes[i]);
    all += d.sample_bytes[i];
  }
  if (all == 0 || size % all != 0)
    tool_fail(EXIT_BAD_RUN,
              "E: %s: %" PRIu64 " bytes are not a whole number of samples of %" PRIu64 " bytes",
              path, size, all);
  d.n_samples = size / all;
  uint64_t offset = 0;
  for (uint32_t i = 0; i < n_tensors; ++i) {
    d.begin[i] = offset;
    offset += d.n_samples * d.sample_bytes[i];
  }
  return d;
}

void raw_data_read(const RawData *d, uint64_t first, uint32_t n)
{
  for (uint32_t i = 0; i < d->n_tensors; ++i)
    read_at(d->fd, d->path, d->buffers[i], n * d->sample_bytes[i],
            d->begin[i] + first * d->sample_bytes[i]);
}

void raw_data_close(RawData *d)
{
  for (uint32_t i = 0; i < d->n_tensors; ++i)
    free(d->buffers[i]);
  free(d->buffers);
  free(d->begin);
  free(d->sample_bytes);
  close(d->fd);
}

void raw_file_read(const char *path, void *buffer, size_t bytes)
{
  uint64_t size = 0;
  int fd = open_file(path, &size);
  if (size != bytes)
    tool_fail(EXIT_BAD_RUN, "E: %s: has %" PRIu64 " bytes, the tensor %zu", path, size, bytes);
  read_at(fd, path, buffer, bytes, 0);
  close(fd);
}

void raw_file_write(const char *path, const void *buffer, size_t bytes)
{
  FILE *f = fopen(path, "wb");
  if (!f)
    tool_fail(EXIT_BAD_RUN, "E: %s: %s", path, strerror(errno));
  bool written = fwrite(buffer, 1, bytes, f) == bytes;
  if (fclose(f) != 0 || !written)
    tool_fail(EXIT_BAD_RUN, "E: %s: %s", path, strerror(errno));
}
