// SPDX-License-Identifier: Apache-2.0
// Choice of the gemm kernels for this machine, and what of batches is the same for all.
#include "kernels/gemm.h"

#include "kernels/dispatch.h"

KERNEL_DISPATCH(gemm, GemmKernels)

static void drop_dim(GemmBatch *q, int i)
{
  --q->rank;
  for (; i < q->rank; ++i) {
    q->dim[i] = q->dim[i + 1];
    q->a_step[i] = q->a_step[i + 1];
    q->b_step[i] = q->b_step[i + 1];
    q->c_step[i] = q->c_step[i + 1];
  }
}

// Whether dimension i steps over whole runs of dimension k in all operands.
static bool continues(const GemmBatch *q, int i, int k)
{
  return q->a_step[i] == q->a_step[k] * q->dim[k] && q->b_step[i] == q->b_step[k] * q->dim[k] &&
         q->c_step[i] == q->c_step[k] * q->dim[k];
}

// Makes dimension i rows of A and C, or rows of B and columns of A.
static bool fold_into_matrix(GemmBatch *q, int i)
{
  GemmShape *s = &q->one;
  if (q->b_step[i] == 0 && q->a_step[i] == s->m * s->a_row && q->c_step[i] == s->m * s->c_row) {
    s->m *= q->dim[i];
    return true;
  }
  if (q->c_step[i] == 0 && q->a_step[i] == s->k * s->a_col && q->b_step[i] == s->k * s->b_row) {
    s->k *= q->dim[i];
    return true;
  }
  return false;
}

void gemm_batch_fold(GemmBatch *q)
{
  for (int i = q->rank; i-- > 0;)
    if (q->dim[i] == 1)
      drop_dim(q, i);
  for (int i = q->rank - 1; i-- > 0;)
    if (continues(q, i, i + 1)) {
      q->a_step[i] = q->a_step[i + 1];
      q->b_step[i] = q->b_step[i + 1];
      q->c_step[i] = q->c_step[i + 1];
      q->dim[i] *= q->dim[i + 1];
      drop_dim(q, i + 1);
    }
  for (int i = q->rank; i-- > 0;)
    if (fold_into_matrix(q, i)) {
      drop_dim(q, i);
      i = q->rank; // dimensions that did not fit may do now
    }
}
