// SPDX-License-Identifier: Apache-2.0
// Checks of the optimizer updates: to the last bit, against the same operations one at a time.
#include "checkkern.h"

#include "kernels/update.h"

#include <math.h>

// volatile keeps each float operation apart, so that none can be fused.
static float once(float v)
{
  volatile float stored = v;
  return stored;
}

static void check_sgd(Check *c, const UpdateKernels *k)
{
  for (int round = 0; round < c->rounds; ++round) {
    int64_t n = check_size(c, 0, 70000);
    float lr = check_float(c, 0, 1);
    check_case(c, "sgd n %lld lr %g", (long long)n, (double)lr);
    float *g = check_input(c, n, -1, 1), *w = check_input(c, n, -1, 1);
    float *want = check_output(c, n, NULL);
    for (int64_t i = 0; i < n; ++i)
      want[i] = w[i] - once(g[i] * lr);
    for (int p = 0; p < CHECK_POOLS; ++p) {
      float *got = check_output(c, n, w);
      k->sgd(lr, g, got, n, check_pool(c, p));
      check_bits(c, "w", got, want, (size_t)n * sizeof *got);
    }
  }
}

static void check_adam(Check *c, const UpdateKernels *k)
{
  for (int round = 0; round < c->rounds; ++round) {
    int64_t n = check_size(c, 0, 30000);
    float alpha = check_float(c, 0, 1), beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-7f;
    if (check_int(c, 0, 1))
      beta1 = check_float(c, 0, 1), beta2 = check_float(c, 0, 1), epsilon = check_float(c, 0, 1);
    check_case(c, "adam n %lld alpha %g beta1 %g beta2 %g epsilon %g", (long long)n,
               (double)alpha, (double)beta1, (double)beta2, (double)epsilon);
    float *g = check_input(c, n, -1, 1), *w = check_input(c, n, -1, 1);
    float *m = check_input(c, n, -1, 1), *v = check_input(c, n, 0, 1);
    float *want_m = check_output(c, n, NULL), *want_v = check_output(c, n, NULL);
    float *want_w = check_output(c, n, NULL);
    for (int64_t i = 0; i < n; ++i) {
      want_m[i] = m[i] + once(once(g[i] - m[i]) * once(1.0f - beta1));
      want_v[i] = v[i] + once(once(once(g[i] * g[i]) - v[i]) * once(1.0f - beta2));
      float step = once(want_m[i] * alpha) / once(once(sqrtf(want_v[i])) + epsilon);
      want_w[i] = w[i] - once(step);
    }
    for (int p = 0; p < CHECK_POOLS; ++p) {
      float *got_m = check_output(c, n, m), *got_v = check_output(c, n, v);
      float *got_w = check_output(c, n, w);
      k->adam(alpha, beta1, beta2, epsilon, g, got_m, got_v, got_w, n, check_pool(c, p));
      check_bits(c, "m", got_m, want_m, (size_t)n * sizeof *got_m);
      check_bits(c, "v", got_v, want_v, (size_t)n * sizeof *got_v);
      check_bits(c, "w", got_w, want_w, (size_t)n * sizeof *got_w);
    }
  }
}

static void bench(Check *c, const UpdateKernels *k)
{
  const int64_t n = 2000000;
  check_case(c, "bench");
  float *g = check_input(c, n, -1, 1), *w = check_output(c, n, g), *m = check_output(c, n, g);
  float *v = check_input(c, n, 0, 1);
  v = check_output(c, n, v);
  for (int p = 0; p < 2; ++p) {
    CheckBench t = {0};
    while (check_bench_next(&t))
      k->sgd(1e-3f, g, w, n, check_pool(c, p));
    check_bench_report(c, &t, 0, 12.0 * (double)n, "sgd 2M, %d threads", p + 1);
    t = (CheckBench){0};
    while (check_bench_next(&t))
      k->adam(1e-3f, 0.9f, 0.999f, 1e-7f, g, m, v, w, n, check_pool(c, p));
    check_bench_report(c, &t, 0, 28.0 * (double)n, "adam 2M, %d threads", p + 1);
  }
}

void check_update(Check *c)
{
  const UpdateKernels *k = update_kernels_for(c->isa);
  if (!k)
    return;
  check_sgd(c, k);
  check_adam(c, k);
  if (c->bench)
    bench(c, k);
}
