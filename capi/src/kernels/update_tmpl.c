// SPDX-License-Identifier: Apache-2.0
// Optimizer updates, compiled once per instruction set: plain loops, each operation rounded as
// IEEE 754 says.
#include "kernels/update.h"

#include "kernels/span.h"
#include "kernels/vmath.h"

#include <math.h>

typedef struct {
  float lr, beta1, beta2, epsilon;
  const float *g;
  float *m, *v, *w;
} Update;

static void sgd_body(void *context, int64_t first, int64_t n)
{
  const Update *u = context;
  const float *g = u->g + first, lr = u->lr;
  float *w = u->w + first;
  VM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i)
    w[i] -= g[i] * lr;
}

static void sgd(float lr, const float *g, float *w, int64_t n, Pool *pool)
{
  Update u = {.lr = lr, .g = g, .w = w};
  span_run(pool, n, 1, sgd_body, &u);
}

static void adam_body(void *context, int64_t first, int64_t n)
{
  const Update *u = context;
  const float *g = u->g + first, alpha = u->lr, epsilon = u->epsilon;
  const float one_minus_beta1 = 1.0f - u->beta1, one_minus_beta2 = 1.0f - u->beta2;
  float *m = u->m + first, *v = u->v + first, *w = u->w + first;
  VM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    float mi = m[i] + (g[i] - m[i]) * one_minus_beta1;
    float vi = v[i] + (g[i] * g[i] - v[i]) * one_minus_beta2;
    m[i] = mi;
    v[i] = vi;
    w[i] -= (mi * alpha) / (sqrtf(vi) + epsilon);
  }
}

static void adam(float alpha, float beta1, float beta2, float epsilon, const float *g, float *m,
                 float *v, float *w, int64_t n, Pool *pool)
{
  Update u = {.lr = alpha, .beta1 = beta1, .beta2 = beta2, .epsilon = epsilon,
              .g = g, .m = m, .v = v, .w = w};
  span_run(pool, n, 4, adam_body, &u);
}

const UpdateKernels KERNEL_TABLE(update) = {.sgd = sgd, .adam = adam};
