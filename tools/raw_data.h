// SPDX-License-Identifier: Apache-2.0
// Raw files: elements as they lie in memory, without a header.
//
// A data set holds all samples of tensor 0, then all of tensor 1, and so on. It is read batch by
// batch and never as a whole. Every fault ends the program with a line that names the file.
#ifndef RAW_DATA_H
#define RAW_DATA_H

#include <nnfw/nnfw.h>

typedef struct {
  const char *path; // borrowed
  int fd;
  uint64_t n_samples;
  uint32_t n_tensors;
  size_t *sample_bytes; // [n_tensors]
  uint64_t *begin;      // [n_tensors] offset of the tensor's first sample in the file
  void **buffers;       // [n_tensors] room for a batch, filled by raw_data_read
} RawData;

// Opens a data set for tensors that are as `infos` in a batch of `batch` samples, the leading
// dimension.
RawData raw_data_open(const char *path, const nnfw_tensorinfo *infos, uint32_t n_tensors,
                      uint32_t batch);
// Fills the beginning of the buffers with samples first .. first + n - 1; n at most the batch.
void raw_data_read(const RawData *data, uint64_t first, uint32_t n);
void raw_data_close(RawData *data);

// Reads a file of exactly that size.
void raw_file_read(const char *path, void *buffer, size_t bytes);
void raw_file_write(const char *path, const void *buffer, size_t bytes);

#endif
