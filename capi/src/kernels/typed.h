// SPDX-License-Identifier: Apache-2.0
// Kernels for elements of any type: integer arithmetic, comparisons, selection, casts. Plain C:
// models use them for indices, masks and shapes. Bools are bytes; every value but 0 is true.
#ifndef KERNELS_TYPED_H
#define KERNELS_TYPED_H

#include "kernels/eltwise.h"
#include "kernels/rows.h"

typedef enum { KT_F32, KT_F16, KT_I32, KT_U32, KT_I64, KT_U8, KT_I8, KT_I16, KT_BOOL } KernelType;

// AND and OR are of bools.
typedef enum {
  KCMP_EQUAL, KCMP_NOT_EQUAL, KCMP_LESS, KCMP_LESS_EQUAL, KCMP_GREATER, KCMP_GREATER_EQUAL,
  KCMP_AND, KCMP_OR,
} KernelCompare;

// int32 and int64: y = -x or |x|; overflow wraps.
void typed_negative(KernelType type, bool absolute, const void *x, void *y, int64_t n, Pool *pool);
// int32 and int64. Overflow wraps, division by zero gives 0.
void typed_binary(KernelType type, KernelBinary op, const BroadcastShape *s, const void *a,
                  const void *b, void *y, Pool *pool);
// Any type but float16 and uint32. y: bools.
void typed_compare(KernelType type, KernelCompare op, const BroadcastShape *s, const void *a,
                   const void *b, void *y, Pool *pool);
void typed_not(const void *x, void *y, int64_t n, Pool *pool);
// y = a ? b : c, where a are bools and b, c elements of 1, 2, 4 or 8 bytes.
void typed_select(int32_t element_bytes, const BroadcastShape *s, const void *a, const void *b,
                  const void *c, void *y, Pool *pool);
// Between any two types. From floats integers are cut towards 0, values outside become the nearest
// end of the range, NaN becomes 0; integers wrap; bools are 0 and 1.
void typed_cast(KernelType from, KernelType to, const void *x, void *y, int64_t n, Pool *pool);

#endif
