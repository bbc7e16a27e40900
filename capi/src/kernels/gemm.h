// SPDX-License-Identifier: Apache-2.0
// Matrix multiply: C[m,n] (+)= A[m,k] B[k,n], then bias[n] and an activation; and batches of such
// products.
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

enum { GEMM_BATCH_RANK = 8 };

// A product for each index of a batch: what one step along each of its dimensions adds to the
// places of A, B and C, in floats. Products along a dimension whose c_step is 0 are summed.
typedef struct {
  GemmShape one; // without activation
  int32_t rank;
  int64_t dim[GEMM_BATCH_RANK];
  int64_t a_step[GEMM_BATCH_RANK], b_step[GEMM_BATCH_RANK], c_step[GEMM_BATCH_RANK];
} GemmBatch;

// The same products as fewer and larger ones: dimensions that continue one another become one, or
// rows of A and C, or k.
void gemm_batch_fold(GemmBatch *q);

typedef struct {
  size_t (*scratch_bytes)(const GemmShape *s, int threads);
  // bias may be NULL. accumulate: C += A B (bias and act must then be absent).
  void (*run)(const GemmShape *s, const float *a, const float *b, const float *bias, float *c,
              bool accumulate, void *scratch, Pool *pool);
  size_t (*batch_scratch)(const GemmBatch *q, int threads);
  void (*run_batch)(const GemmBatch *q, const float *a, const float *b, float *c, bool accumulate,
                    void *scratch, Pool *pool);
} GemmKernels;

const GemmKernels *gemm_kernels(void);
const GemmKernels *gemm_kernels_for(Isa isa);

#endif
