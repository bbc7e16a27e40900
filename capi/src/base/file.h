// SPDX-License-Identifier: Apache-2.0
// Whole files in, whole files out. A file is replaced atomically or left as it was.
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/diag.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

// Reads a regular file. *bytes is to be freed with mem_free.
Status file_read(const char *path, uint8_t **bytes, size_t *size, Diag *d) MUST_USE;

typedef struct {
  const void *bytes;
  size_t size;
} FilePart;

// Writes the parts one after the other to a temporary file in the folder of `path`, forces it to
// the disk and renames it to `path`. On failure `path` is what it was before.
Status file_replace(const char *path, const FilePart *parts, size_t n_parts, Diag *d) MUST_USE;

#endif
