// SPDX-License-Identifier: Apache-2.0
// Element types of tensors.
#ifndef GRAPH_DTYPE_H
#define GRAPH_DTYPE_H

#include <stddef.h>

typedef enum {
  DT_F32,
  DT_F16,
  DT_I32,
  DT_U32,
  DT_I64,
  DT_U8,
  DT_I8,
  DT_I16,
  DT_BOOL, // one byte, 0 or 1
  DT_COUNT,
} DType;

size_t dtype_bytes(DType t);
const char *dtype_name(DType t); // "float32"

#endif
