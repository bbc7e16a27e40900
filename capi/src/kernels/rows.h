// SPDX-License-Identifier: Apache-2.0
// Sums over some axes of a tensor, and kernels that work row by row: softmax and its losses.
#ifndef KERNELS_ROWS_H
#define KERNELS_ROWS_H

#include "kernels/kernel.h"

enum { REDUCE_MAX_RANK = 8 };

// Axes with reduce[i] are summed. Callers merge neighbouring axes of one kind, so kept and reduced
// ones alternate.
typedef struct {
  int32_t rank;
  int64_t dim[REDUCE_MAX_RANK];
  bool reduce[REDUCE_MAX_RANK];
} ReduceShape;

typedef struct {
  // y (+)= scale * sum. The order of summation depends on the shape only.
  size_t (*sum_scratch)(const ReduceShape *s, int threads);
  void (*sum)(const ReduceShape *s, float scale, const float *x, float *y, bool accumulate,
              void *scratch, Pool *pool);
  // x (+)= scale * y repeated over the reduced axes: the gradient of sum.
  void (*spread)(const ReduceShape *s, float scale, const float *y, float *x, bool accumulate,
                 Pool *pool);
  // Rows of n: y = softmax(beta * x), the maximum subtracted first.
  void (*softmax)(float beta, const float *x, float *y, int64_t rows, int64_t n, Pool *pool);
  // dx (+)= beta * y * (dy - sum(dy * y))
  void (*softmax_grad)(float beta, const float *y, const float *dy, float *dx, bool accumulate,
                       int64_t rows, int64_t n, Pool *pool);
  // Squared error: loss[i] = mean over the n elements of row i of (p - t)^2.
  void (*mse)(const float *p, const float *t, float *loss, int64_t rows, int64_t n, Pool *pool);
  // dp (+)= scale * (p - t)
  void (*mse_grad)(float scale, const float *p, const float *t, float *dp, bool accumulate,
                   int64_t n, Pool *pool);
  // Cross-entropy of probabilities: loss[i] = -sum over the row of t * ln(max(p, 1e-20)).
  void (*cce)(const float *p, const float *t, float *loss, int64_t rows, int64_t n, Pool *pool);
  // dp (+)= -scale * t / max(p, 1e-20)
  void (*cce_grad)(float scale, const float *p, const float *t, float *dp, bool accumulate,
                   int64_t n, Pool *pool);
  // Cross-entropy of logits z: loss[i] = sum of t * (ln(sum exp(z - max)) - (z - max)).
  void (*cce_logits)(const float *z, const float *t, float *loss, int64_t rows, int64_t n,
                     Pool *pool);
  // dz (+)= scale * (softmax(z) * sum(t) - t)
  void (*cce_logits_grad)(float scale, const float *z, const float *t, float *dz, bool accumulate,
                          int64_t rows, int64_t n, Pool *pool);
  // The same from p = softmax(z), which is at hand where the model ends in SOFTMAX.
  void (*softmax_cce_grad)(float scale, const float *p, const float *t, float *dz, bool accumulate,
                           int64_t rows, int64_t n, Pool *pool);
} RowsKernels;

const RowsKernels *rows_kernels(void);
const RowsKernels *rows_kernels_for(Isa isa);

#endif
