// SPDX-License-Identifier: Apache-2.0
// Moving elements of any type: strided copies serve transposition, padding, slicing, concatenation.
// Not compiled per instruction set: memory decides.
#ifndef KERNELS_MOVE_H
#define KERNELS_MOVE_H

#include "kernels/kernel.h"

// Eight dimensions, each of them cut in two, and one for the samples.
enum { MOVE_MAX_RANK = 17 };

// dst[i . dst_stride] = src[i . src_stride] for every index i < dim. Strides are in elements and
// may be negative or 0; callers offset the pointers to the first element.
typedef struct {
  int32_t rank;
  int64_t dim[MOVE_MAX_RANK];
  int64_t src_stride[MOVE_MAX_RANK], dst_stride[MOVE_MAX_RANK];
  int32_t element_bytes; // 1, 2, 4 or 8
} MoveShape;

void move_copy(const MoveShape *s, const void *src, void *dst, Pool *pool);
// float32: dst += src
void move_add(const MoveShape *s, const float *src, float *dst, Pool *pool);
// n elements of element_bytes each := *value
void move_fill(void *dst, const void *value, int64_t n, int32_t element_bytes, Pool *pool);
// dst[i] = start + i * step, n of them; the caller knows that integers do not overflow
void move_range_f32(float *dst, float start, float step, int64_t n);
void move_range_i32(int32_t *dst, int32_t start, int32_t step, int64_t n);
void move_range_i64(int64_t *dst, int64_t start, int64_t step, int64_t n);
// Drops dimensions of 1 and joins neighbours that both sides walk as one.
void move_simplify(MoveShape *s);

#endif
