// SPDX-License-Identifier: Apache-2.0
#include "graph/dtype.h"

static const struct {
  const char *name;
  size_t bytes;
} table[DT_COUNT] = {
  [DT_F32] = {"float32", 4}, [DT_F16] = {"float16", 2}, [DT_I32] = {"int32", 4},
  [DT_U32] = {"uint32", 4},  [DT_I64] = {"int64", 8},   [DT_U8] = {"uint8", 1},
  [DT_I8] = {"int8", 1},     [DT_I16] = {"int16", 2},   [DT_BOOL] = {"bool", 1},
};

size_t dtype_bytes(DType t)
{
  return table[t].bytes;
}

const char *dtype_name(DType t)
{
  return table[t].name;
}
