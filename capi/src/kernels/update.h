// SPDX-License-Identifier: Apache-2.0
// Optimizer updates: one pass over a parameter. The arithmetic is that of onert to the last bit:
// no fused multiply-add.
#ifndef KERNELS_UPDATE_H
#define KERNELS_UPDATE_H

#include "kernels/kernel.h"

typedef struct {
  // w = w - g * lr
  void (*sgd)(float lr, const float *g, float *w, int64_t n, Pool *pool);
  // m = m + (g - m) * (1 - beta1); v = v + (g*g - v) * (1 - beta2);
  // w = w - (m * alpha) / (sqrt(v) + epsilon)
  void (*adam)(float alpha, float beta1, float beta2, float epsilon, const float *g, float *m,
               float *v, float *w, int64_t n, Pool *pool);
} UpdateKernels;

const UpdateKernels *update_kernels(void);
const UpdateKernels *update_kernels_for(Isa isa);

#endif
