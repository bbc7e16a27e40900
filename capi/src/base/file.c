// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "base/file.h"

#include "base/mem.h"

#include <errno.h>
#include <stdbool.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *reason(char *buffer, size_t size)
{
  // The XSI and the GNU strerror_r differ in what they return; the message table is enough here.
  snprintf(buffer, size, "%s", strerror(errno));
  return buffer;
}

Status file_read(const char *path, uint8_t **bytes, size_t *size, Diag *d)
{
  char why[128];
  *bytes = NULL;
  *size = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return diag_fail(d, ST_ERROR, "cannot open '%s': %s", path, reason(why, sizeof why));
  struct stat st;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    close(fd);
    return diag_fail(d, ST_ERROR, "'%s' is not a regular file", path);
  }
  size_t total = (size_t)st.st_size, done = 0;
  uint8_t *p = mem_alloc(total);
  if (!p) {
    close(fd);
    return diag_oom(d);
  }
  while (done < total) {
    ssize_t n = read(fd, p + done, total - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    done += (size_t)n;
  }
  if (done < total) {
    Status s = diag_fail(d, ST_ERROR, "cannot read '%s': got %zu of %zu bytes", path, done, total);
    close(fd);
    mem_free(p);
    return s;
  }
  close(fd);
  *bytes = p;
  *size = total;
  return ST_OK;
}

static bool write_all(int fd, const void *bytes, size_t size)
{
  const uint8_t *p = bytes;
  while (size > 0) {
    ssize_t n = write(fd, p, size);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    p += n;
    size -= (size_t)n;
  }
  return true;
}

// The folder's entry must reach the disk too, or the rename can be lost in a power cut. Some file
// systems refuse to sync a folder; the data itself is safe by then, so that is no failure.
static void sync_folder(const char *path)
{
  const char *slash = strrchr(path, '/');
  char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
  if (!folder)
    return;
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  free(folder);
  if (fd >= 0) {
    (void)fsync(fd);
    close(fd);
  }
}

Status file_replace(const char *path, const FilePart *parts, size_t n_parts, Diag *d)
{
  char why[128];
  // A symbolic link is followed, so that the file it names is replaced, not the link.
  char *target = realpath(path, NULL);
  const char *final = target ? target : path;
  struct stat st;
  bool exists = stat(final, &st) == 0;
  if (exists && !S_ISREG(st.st_mode)) {
    free(target);
    return diag_fail(d, ST_ERROR, "cannot write '%s': it is not a regular file", path);
  }
  size_t length = strlen(final);
  // Unique among the threads and processes that may write to this folder; O_EXCL settles the rest.
  static atomic_uint serial;
  char *temporary = malloc(length + 48);
  if (!temporary) {
    free(target);
    return diag_oom(d);
  }
  snprintf(temporary, length + 48, "%s.%ld-%u.tmp", final, (long)getpid(),
           atomic_fetch_add(&serial, 1));
  Status s = ST_OK;
  int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) {
    s = diag_fail(d, ST_ERROR, "cannot write '%s': %s", path, reason(why, sizeof why));
    goto end;
  }
  bool ok = !exists || fchmod(fd, st.st_mode & 07777) == 0;
  for (size_t i = 0; ok && i < n_parts; ++i)
    ok = write_all(fd, parts[i].bytes, parts[i].size);
  ok = ok && fsync(fd) == 0;
  if (!ok)
    s = diag_fail(d, ST_ERROR, "cannot write '%s': %s", path, reason(why, sizeof why));
  if (close(fd) != 0 && s == ST_OK)
    s = diag_fail(d, ST_ERROR, "cannot write '%s': %s", path, reason(why, sizeof why));
  if (s == ST_OK && rename(temporary, final) != 0)
    s = diag_fail(d, ST_ERROR, "cannot replace '%s': %s", path, reason(why, sizeof why));
  if (s == ST_OK)
    sync_folder(final);
  else
    (void)unlink(temporary);
end:
  free(temporary);
  free(target);
  return s;
}
