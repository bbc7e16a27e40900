// SPDX-License-Identifier: Apache-2.0
// Max and average pooling, NHWC. Padding cells never win a maximum and do not count in an average;
// a window that lies in the padding only gives 0 and no gradient.
#ifndef KERNELS_POOL2D_H
#define KERNELS_POOL2D_H

#include "kernels/kernel.h"

typedef struct {
  int32_t n, ih, iw, c, oh, ow;
  int32_t kh, kw, sh, sw, pt, pl;
  KernelAct act; // forward only
} Pool2dShape;

typedef struct {
  void (*max)(const Pool2dShape *s, const float *x, float *y, Pool *pool);
  // dx (+)= dy at the first position, in row-major order of the window, that holds the window's
  // largest value (of x).
  void (*max_grad)(const Pool2dShape *s, const float *x, const float *dy, float *dx,
                   bool accumulate, Pool *pool);
  void (*average)(const Pool2dShape *s, const float *x, float *y, Pool *pool);
  void (*average_grad)(const Pool2dShape *s, const float *dy, float *dx, bool accumulate,
                       Pool *pool);
} Pool2dKernels;

const Pool2dKernels *pool2d_kernels(void);
const Pool2dKernels *pool2d_kernels_for(Isa isa);

#endif
