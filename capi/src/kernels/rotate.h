// SPDX-License-Identifier: Apache-2.0
// Rotation of pairs of elements by tables of sines and cosines (rotary position embedding). Not
// compiled per instruction set: memory decides.
#ifndef KERNELS_ROTATE_H
#define KERNELS_ROTATE_H

#include "kernels/kernel.h"

enum { ROTATE_MAX_RANK = 8 };

// Rows of `width` elements, which is even: an index space of `rank` dimensions, whose rows of sines
// and cosines stand so many elements apart (0: shared).
typedef struct {
  int64_t width;
  bool is_interleaved; // pairs are elements 2i and 2i + 1; else i and i + width / 2
  int32_t rank;
  int64_t dim[ROTATE_MAX_RANK], sin_stride[ROTATE_MAX_RANK], cos_stride[ROTATE_MAX_RANK];
} RotateShape;

// Of a pair (a, b) at (i, k): y[i] = a cos[i] - b sin[i], y[k] = b cos[k] + a sin[k].
void rotate(const RotateShape *s, const float *x, const float *sin, const float *cos, float *y,
            Pool *pool);
// The transpose, dx (+)= for (a, b) of dy: dx[i] = a cos[i] + b sin[k], dx[k] = b cos[k] - a sin[i].
void rotate_grad(const RotateShape *s, const float *dy, const float *sin, const float *cos,
                 float *dx, bool accumulate, Pool *pool);
// By a right angle: y[i] = -b, y[k] = a.
void rotate_right_angle(const RotateShape *s, const float *x, float *y, Pool *pool);

#endif
