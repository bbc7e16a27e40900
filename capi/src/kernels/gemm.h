// SPDX-License-Identifier: Apache-2.0
// Matrix multiply: C[m,n] (+)= A[m,k] B[k,n], then bias[n] and an activation.
#ifndef KERNELS_GEMM_H
#define KERNELS_GEMM_H

#include "kernels/kernel.h"

typedef struct {
  int64_t m, n, k;
  // Element (i,j) of a stands at a[i * a_row + j * a_col]; of b likewise. C is dense in its last
  // dimension with row stride c_row.
  int64_t a_row, a_col, b_row, b_col, c_row;
  KernelAct act;
} GemmShape;

typedef struct {
  size_t (*scratch_bytes)(const GemmShape *s, int threads);
  // bias may be NULL. accumulate: C += A B (bias and act must then be absent).
  void (*run)(const GemmShape *s, const float *a, const float *b, const float *bias, float *c,
              bool accumulate, void *scratch, Pool *pool);
} GemmKernels;

const GemmKernels *gemm_kernels(void);
const GemmKernels *gemm_kernels_for(Isa isa);

#endif
