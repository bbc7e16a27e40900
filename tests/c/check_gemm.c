// SPDX-License-Identifier: Apache-2.0
// Checks of matrix multiply: any strides and sizes, bias, activations, accumulation.
#include "checkkern.h"

#include "kernels/gemm.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
  const float *a, *b, *bias, *old; // bias, old: or NULL
  double *c, *size;                // size: sum of the terms' absolute values
} Reference;

static double activate(KernelAct act, double v)
{
  switch (act) {
  case KACT_RELU:
    return v < 0 ? 0 : v;
  case KACT_RELU_N1_TO_1:
    return v < -1 ? -1 : v > 1 ? 1 : v;
  case KACT_RELU6:
    return v < 0 ? 0 : v > 6 ? 6 : v;
  case KACT_TANH:
    return tanh(v);
  default:
    return v;
  }
}

static void reference(const GemmShape *s, const Reference *r)
{
  for (int64_t i = 0; i < s->m; ++i) {
    for (int64_t j = 0; j < s->n; ++j) {
      int64_t at = i * s->c_row + j;
      double sum = r->old ? r->old[at] : 0, size = fabs(sum);
      for (int64_t e = 0; e < s->k; ++e) {
        double term = (double)r->a[i * s->a_row + e * s->a_col] * r->b[e * s->b_row + j * s->b_col];
        sum += term;
        size += fabs(term);
      }
      if (r->bias) {
        sum += r->bias[j];
        size += fabs(r->bias[j]);
      }
      r->c[at] = activate(s->act, sum);
      r->size[at] = size;
    }
  }
}

// Strides of a rows x cols matrix: dense, transposed, or with gaps. Returns its floats.
static int64_t random_strides(Check *c, int64_t rows, int64_t cols, int64_t *row, int64_t *col)
{
  bool transposed = check_int(c, 0, 1);
  int64_t gap = check_int(c, 0, 3) == 0 ? check_int(c, 1, 5) : 0;
  int64_t step = check_int(c, 0, 9) == 0 ? check_int(c, 2, 3) : 1;
  *row = transposed ? step : cols * step + gap;
  *col = transposed ? rows * step + gap : step;
  return rows && cols ? (rows - 1) * *row + (cols - 1) * *col + 1 : 0;
}

static void check_shape(Check *c, const GemmKernels *k, int round)
{
  GemmShape s = {.m = check_size(c, 0, 150), .n = check_size(c, 0, 300), .k = check_size(c, 0, 700),
                 .act = (KernelAct)check_int(c, KACT_NONE, KACT_TANH)};
  if (round % 11 == 0)
    s.k = check_int(c, 500, 1100);
  if (round % 5 == 0)
    s.m = check_int(c, 1, 13);
  bool accumulate = check_int(c, 0, 2) == 0, has_bias = !accumulate && check_int(c, 0, 1);
  if (accumulate)
    s.act = KACT_NONE;
  int64_t n_a = random_strides(c, s.m, s.k, &s.a_row, &s.a_col);
  int64_t n_b = random_strides(c, s.k, s.n, &s.b_row, &s.b_col);
  s.c_row = s.n + (check_int(c, 0, 2) == 0 ? check_int(c, 1, 7) : 0);
  check_case(c, "m %d n %d k %d a %d,%d b %d,%d c %d act %d bias %d accumulate %d", (int)s.m,
             (int)s.n, (int)s.k, (int)s.a_row, (int)s.a_col, (int)s.b_row, (int)s.b_col,
             (int)s.c_row, s.act, has_bias, accumulate);
  // Gaps between rows of C keep what was there, so C has contents in every case.
  int64_t n_c = s.m && s.n ? (s.m - 1) * s.c_row + s.n : 0;
  float *old = check_input(c, n_c, -1, 1);
  Reference r = {.a = check_input(c, n_a, -1, 1), .b = check_input(c, n_b, -1, 1),
                 .bias = has_bias ? check_input(c, s.n, -1, 1) : NULL,
                 .old = accumulate ? old : NULL, .c = check_doubles(c, n_c),
                 .size = check_doubles(c, n_c)};
  for (int64_t i = 0; i < n_c; ++i)
    r.c[i] = old[i];
  reference(&s, &r);
  float *first = NULL;
  for (int p = 0; p < CHECK_POOLS; ++p) {
    Pool *pool = check_pool(c, p);
    float *got = check_output(c, n_c, old);
    void *scratch = check_scratch(c, k->scratch_bytes(&s, pool_threads(pool)));
    k->run(&s, r.a, r.b, r.bias, got, accumulate, scratch, pool);
    if (p == 0)
      check_near(c, "c", first = got, r.c, r.size, n_c, 1e-6);
    else
      check_bits(c, "c", got, first, (size_t)n_c * sizeof(float));
  }
}

// NaN and infinity reach exactly the results they take part in.
static void check_special(Check *c, const GemmKernels *k)
{
  GemmShape s = {.m = 20, .n = 37, .k = 19, .a_row = 19, .a_col = 1, .b_row = 37, .b_col = 1,
                 .c_row = 37, .act = KACT_RELU6};
  check_case(c, "nan and infinity");
  float *a = check_input(c, s.m * s.k, 0.5f, 1), *b = check_input(c, s.k * s.n, 0.5f, 1);
  a[3 * s.a_row + 4] = NAN;
  a[7 * s.a_row] = -INFINITY;
  check_input_changed(c, a);
  float *got = check_output(c, s.m * s.n, NULL);
  k->run(&s, a, b, NULL, got, false, check_scratch(c, k->scratch_bytes(&s, 1)), NULL);
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j) {
      float v = got[i * s.n + j];
      if (i == 3 ? !isnan(v) : i == 7 ? v != 0 : !(v > 0 && v <= 6))
        check_fail(c, "c[%d,%d] is %g", (int)i, (int)j, v);
    }
}

// Steps of `rank` dimensions that share nothing, or, here and there, all of it; random in order.
// Returns the floats of all `matrices` of that many floats.
static int64_t random_steps(Check *c, const GemmBatch *q, int64_t matrix, int64_t *step)
{
  int64_t floats = matrix + (check_int(c, 0, 3) == 0 ? check_int(c, 1, 5) : 0);
  const bool is_reversed = check_int(c, 0, 4) == 0;
  for (int r = 0; r < q->rank; ++r) {
    const int i = is_reversed ? r : q->rank - 1 - r;
    step[i] = check_int(c, 0, 2) == 0 ? 0 : floats;
    floats *= step[i] ? q->dim[i] : 1;
  }
  return floats;
}

static void check_batch(Check *c, const GemmKernels *k, int round)
{
  const int largest = round % 4 == 0 ? 80 : 9;
  GemmBatch q = {.one = {.m = check_size(c, 0, largest), .n = check_size(c, 0, largest),
                         .k = check_size(c, 0, largest)},
                 .rank = (int32_t)check_int(c, 0, 4)};
  GemmShape *s = &q.one;
  for (int i = 0; i < q.rank; ++i)
    q.dim[i] = check_int(c, round % 13 == 0 ? 0 : 1, 5);
  const bool accumulate = check_int(c, 0, 1);
  int64_t n_a = random_strides(c, s->m, s->k, &s->a_row, &s->a_col);
  int64_t n_b = random_strides(c, s->k, s->n, &s->b_row, &s->b_col);
  s->c_row = s->n;
  n_a = random_steps(c, &q, n_a, q.a_step);
  n_b = random_steps(c, &q, n_b, q.b_step);
  const int64_t n_c = random_steps(c, &q, s->m * s->n, q.c_step);
  check_case(c, "batch of rank %d, m %d n %d k %d a %d,%d b %d,%d accumulate %d", q.rank, (int)s->m,
             (int)s->n, (int)s->k, (int)s->a_row, (int)s->a_col, (int)s->b_row, (int)s->b_col,
             accumulate);
  float *old = check_input(c, n_c, -1, 1);
  const float *a = check_input(c, n_a, -1, 1), *b = check_input(c, n_b, -1, 1);
  double *want = check_doubles(c, n_c), *size = check_doubles(c, n_c);
  bool *is_written = calloc((size_t)n_c + 1, sizeof *is_written);
  for (int64_t i = 0; i < n_c; ++i)
    size[i] = fabs(want[i] = old[i]);
  int64_t products = 1;
  for (int i = 0; i < q.rank; ++i)
    products *= q.dim[i];
  // Results of batches without products are written too.
  int64_t results = s->m * s->n > 0;
  for (int i = 0; i < q.rank; ++i)
    results *= q.c_step[i] ? q.dim[i] : 1;
  for (int64_t index = 0; index < (products ? products : results); ++index) {
    int64_t at_a = 0, at_b = 0, at_c = 0, left = index;
    for (int i = q.rank; i-- > 0;) {
      if (!products && !q.c_step[i])
        continue;
      const int64_t e = left % q.dim[i];
      left /= q.dim[i];
      at_a += e * q.a_step[i];
      at_b += e * q.b_step[i];
      at_c += e * q.c_step[i];
    }
    for (int64_t i = 0; i < s->m; ++i)
      for (int64_t j = 0; j < s->n; ++j) {
        const int64_t at = at_c + i * s->c_row + j;
        if (!is_written[at] && !accumulate)
          want[at] = size[at] = 0;
        is_written[at] = true;
        for (int64_t e = 0; e < (products ? s->k : 0); ++e) {
          const double term = (double)a[at_a + i * s->a_row + e * s->a_col] *
                              b[at_b + e * s->b_row + j * s->b_col];
          want[at] += term;
          size[at] += fabs(term);
        }
      }
  }
  free(is_written);
  if (check_int(c, 0, 3))
    gemm_batch_fold(&q);
  float *first = NULL;
  for (int p = 0; p < CHECK_POOLS; ++p) {
    Pool *pool = check_pool(c, p);
    float *got = check_output(c, n_c, old);
    void *scratch = check_scratch(c, k->batch_scratch(&q, pool_threads(pool)));
    k->run_batch(&q, a, b, got, accumulate, scratch, pool);
    if (p == 0)
      check_near(c, "c", first = got, want, size, n_c, 1e-6);
    else
      check_bits(c, "c", got, first, (size_t)n_c * sizeof(float));
  }
}

// Aligned as tensors are, unlike the buffers of the checks.
static float *bench_buffer(Check *c, int64_t n)
{
  float *p = check_scratch(c, (size_t)n * sizeof *p);
  for (int64_t i = 0; i < n; ++i)
    p[i] = check_float(c, -1, 1);
  return p;
}

static void bench(Check *c, const GemmKernels *k)
{
  enum { FORWARD, DATA_GRAD, FILTER_GRAD };
  // Dense layers [batch, inputs, outputs], and one large square product.
  static const int layers[][3] = {{1, 784, 128}, {10, 784, 128}, {10, 128, 10}, {32, 784, 128},
                                  {10, 1280, 1000}, {1, 4096, 4096}, {10, 4096, 4096},
                                  {32, 4096, 4096}, {960, 960, 960}};
  for (size_t i = 0; i < sizeof layers / sizeof *layers; ++i) {
    const int64_t batch = layers[i][0], in = layers[i][1], out = layers[i][2];
    for (int way = FORWARD; way <= FILTER_GRAD; ++way) {
      // y = x w^T; dx = dy w; dw = dy^T x
      GemmShape s = {batch, out, in, in, 1, 1, in, out, KACT_NONE};
      if (way == DATA_GRAD)
        s = (GemmShape){batch, in, out, out, 1, in, 1, in, KACT_NONE};
      if (way == FILTER_GRAD)
        s = (GemmShape){out, in, batch, 1, out, in, 1, in, KACT_NONE};
      check_case(c, "bench");
      const float *a = bench_buffer(c, s.m * s.k), *b = bench_buffer(c, s.k * s.n);
      float *out_c = bench_buffer(c, s.m * s.n);
      for (int p = 0; p < 2; ++p) {
        Pool *pool = check_pool(c, p);
        void *scratch = check_scratch(c, k->scratch_bytes(&s, pool_threads(pool)));
        CheckBench t = {0};
        while (check_bench_next(&t))
          k->run(&s, a, b, NULL, out_c, false, scratch, pool);
        static const char *const names[] = {"forward", "data grad", "filter grad"};
        check_bench_report(c, &t, 2.0 * (double)(s.m * s.n * s.k), 0, "%s %dx%d->%d, %d threads",
                           names[way], layers[i][0], layers[i][1], layers[i][2], p + 1);
      }
    }
  }
}

// Attention: scores and mixed values of all heads of a step.
static void bench_batches(Check *c, const GemmKernels *k)
{
  static const int heads[][3] = {{8, 16, 8}, {64, 8, 8}, {64, 8, 32}, {96, 16, 32}, {48, 32, 64},
                               {96, 64, 64}, {32, 128, 64}, {12, 512, 64}};
  for (size_t i = 0; i < sizeof heads / sizeof *heads; ++i) {
    const int64_t n = heads[i][0], t = heads[i][1], d = heads[i][2];
    for (int way = 0; way < 2; ++way) {
      // [t,d] [t,d]^T, and [t,t] [t,d]
      GemmBatch q = {.one = {t, t, d, d, 1, 1, d, t, KACT_NONE}, .rank = 1, .dim = {n},
                     .a_step = {t * d}, .b_step = {t * d}, .c_step = {t * t}};
      if (way)
        q = (GemmBatch){.one = {t, d, t, t, 1, d, 1, d, KACT_NONE}, .rank = 1, .dim = {n},
                        .a_step = {t * t}, .b_step = {t * d}, .c_step = {t * d}};
      check_case(c, "bench");
      const float *a = bench_buffer(c, n * q.a_step[0]), *b = bench_buffer(c, n * q.b_step[0]);
      float *to = bench_buffer(c, n * q.c_step[0]);
      for (int p = 0; p < 2; ++p) {
        Pool *pool = check_pool(c, p);
        void *scratch = check_scratch(c, k->batch_scratch(&q, pool_threads(pool)));
        CheckBench time = {0};
        while (check_bench_next(&time))
          k->run_batch(&q, a, b, to, false, scratch, pool);
        check_bench_report(c, &time, 2.0 * (double)(n * t * t * d), 0,
                           "%d x %s of %dx%d, %d threads", (int)n, way ? "values" : "scores",
                           (int)t, (int)d, p + 1);
      }
    }
  }
}

void check_gemm(Check *c)
{
  const GemmKernels *k = gemm_kernels_for(c->isa);
  if (!k)
    return;
  for (int round = 0; round < 3 * c->rounds; ++round)
    check_shape(c, k, round);
  check_special(c, k);
  for (int round = 0; round < 3 * c->rounds; ++round)
    check_batch(c, k, round);
  if (c->bench) {
    bench(c, k);
    bench_batches(c, k);
  }
}
