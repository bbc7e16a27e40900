// SPDX-License-Identifier: Apache-2.0
// Row-wise kernels, compiled once per instruction set: softmax and losses. Sums over a row run in
// vector lanes over blocks, and over blocks in double, so that errors do not grow with its length.
// Sums over axes are in reduce.h.
#include "kernels/rows.h"

#include "kernels/reduce.h"
#include "kernels/span.h"
#include "kernels/vmath.h"

#include <math.h>
#include <string.h>

enum {
  BLOCK = 2048,  // elements summed in float
  EXP_COST = 4,  // of an exponential, in simple operations
};
#define P_MIN 1e-20f

#if defined(__AVX512F__)
enum { LANES = 16 };
#elif defined(__AVX__)
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
typedef float Vector __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t VectorMask __attribute__((vector_size(LANES * sizeof(float))));

static inline Vector load(const float *p)
{
  Vector v;
  memcpy(&v, p, sizeof v);
  return v;
}

static inline float add_lanes(Vector v)
{
  float lane[LANES];
  memcpy(lane, &v, sizeof lane);
  for (int step = LANES / 2; step > 0; step /= 2)
    for (int i = 0; i < step; ++i)
      lane[i] += lane[i + step];
  return lane[0];
}

// Defines static double name(a, b, n): the sum of `term` over n elements. In `term`, u and v are
// elements of a and b, vectors or scalars.
#define DEFINE_SUM(name, term)                                                                     \
  static float name##_block(const float *a, const float *b, int64_t n)                             \
  {                                                                                                \
    Vector s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};                                                 \
    int64_t i = 0;                                                                                 \
    for (; i + 4 * LANES <= n; i += 4 * LANES) {                                                   \
      Vector u = load(a + i), v = load(b + i);                                                     \
      (void)v;                                                                                     \
      s0 += (term);                                                                                \
      u = load(a + i + LANES), v = load(b + i + LANES);                                            \
      s1 += (term);                                                                                \
      u = load(a + i + 2 * LANES), v = load(b + i + 2 * LANES);                                    \
      s2 += (term);                                                                                \
      u = load(a + i + 3 * LANES), v = load(b + i + 3 * LANES);                                    \
      s3 += (term);                                                                                \
    }                                                                                              \
    for (; i + LANES <= n; i += LANES) {                                                           \
      Vector u = load(a + i), v = load(b + i);                                                     \
      (void)v;                                                                                     \
      s0 += (term);                                                                                \
    }                                                                                              \
    float tail = 0;                                                                                \
    for (; i < n; ++i) {                                                                           \
      float u = a[i], v = b[i];                                                                    \
      (void)v;                                                                                     \
      tail += (term);                                                                              \
    }                                                                                              \
    return add_lanes((s0 + s1) + (s2 + s3)) + tail;                                                \
  }                                                                                                \
  static double name(const float *a, const float *b, int64_t n)                                    \
  {                                                                                                \
    double sum = 0;                                                                                \
    for (int64_t i = 0; i < n; i += BLOCK)                                                         \
      sum += name##_block(a + i, b + i, n - i < BLOCK ? n - i : BLOCK);                            \
    return sum;                                                                                    \
  }

DEFINE_SUM(add_row, u)
DEFINE_SUM(dot_row, u * v)
DEFINE_SUM(square_row, (u - v) * (u - v))

// Largest element; of NaNs it may return any other one, or itself.
static float max_row(const float *x, int64_t n)
{
  float m = x[0];
  int64_t i = 1;
  if (n >= 2 * LANES) {
    Vector m0 = load(x), m1 = load(x + LANES);
    for (i = 2 * LANES; i + 2 * LANES <= n; i += 2 * LANES) {
      Vector u = load(x + i), v = load(x + i + LANES);
      VectorMask g0 = u > m0, g1 = v > m1;
      m0 = (Vector)(((VectorMask)u & g0) | ((VectorMask)m0 & ~g0));
      m1 = (Vector)(((VectorMask)v & g1) | ((VectorMask)m1 & ~g1));
    }
    float lane[2 * LANES];
    memcpy(lane, &m0, sizeof m0);
    memcpy(lane + LANES, &m1, sizeof m1);
    for (int k = 0; k < 2 * LANES; ++k)
      m = lane[k] > m ? lane[k] : m;
  }
  for (; i < n; ++i)
    m = x[i] > m ? x[i] : m;
  return m;
}

static float min_row(const float *x, int64_t n)
{
  float m = x[0];
  for (int64_t i = 1; i < n; ++i)
    m = x[i] < m ? x[i] : m;
  return m;
}

typedef struct {
  float factor; // beta or scale
  const float *a, *b;
  float *dst;
  bool accumulate;
  int64_t n;
} Rows;

#define LOOP(n, statement)                                                                         \
  do {                                                                                             \
    VM_INDEPENDENT                                                                                 \
    for (int64_t i = 0; i < (n); ++i)                                                              \
      statement;                                                                                   \
  } while (0)

#define ASSIGN(n, dst, expression)                                                                 \
  do {                                                                                             \
    if (accumulate)                                                                                \
      LOOP(n, (dst)[i] += (expression));                                                           \
    else                                                                                           \
      LOOP(n, (dst)[i] = (expression));                                                            \
  } while (0)

static void softmax_body(void *context, int64_t first, int64_t count)
{
  const Rows *c = context;
  const int64_t n = c->n;
  const float beta = c->factor;
  for (int64_t row = first; row < first + count; ++row) {
    const float *x = c->a + row * n;
    float *y = c->dst + row * n;
    const float m = beta < 0 ? min_row(x, n) : max_row(x, n);
    LOOP(n, y[i] = vm_exp(beta * (x[i] - m)));
    const float r = (float)(1.0 / add_row(y, y, n));
    LOOP(n, y[i] *= r);
  }
}

static void softmax(float beta, const float *x, float *y, int64_t rows, int64_t n, Pool *pool)
{
  Rows c = {.factor = beta, .a = x, .dst = y, .n = n};
  if (n > 0)
    span_run(pool, rows, EXP_COST * n, softmax_body, &c);
}

static void softmax_grad_body(void *context, int64_t first, int64_t count)
{
  const Rows *c = context;
  const int64_t n = c->n;
  const float beta = c->factor;
  const bool accumulate = c->accumulate;
  for (int64_t row = first; row < first + count; ++row) {
    const float *y = c->a + row * n, *dy = c->b + row * n;
    float *dx = c->dst + row * n;
    const float dot = (float)dot_row(dy, y, n);
    ASSIGN(n, dx, beta * y[i] * (dy[i] - dot));
  }
}

static void softmax_grad(float beta, const float *y, const float *dy, float *dx, bool accumulate,
                         int64_t rows, int64_t n, Pool *pool)
{
  Rows c = {.factor = beta, .a = y, .b = dy, .dst = dx, .accumulate = accumulate, .n = n};
  if (n > 0)
    span_run(pool, rows, n, softmax_grad_body, &c);
}

static void mse_body(void *context, int64_t first, int64_t count)
{
  const Rows *c = context;
  for (int64_t row = first; row < first + count; ++row)
    c->dst[row] = (float)(square_row(c->a + row * c->n, c->b + row * c->n, c->n) / (double)c->n);
}

// The mean over no elements is 0 / 0 in frameworks; a loss of 0 would hide it.
static void mse(const float *p, const float *t, float *loss, int64_t rows, int64_t n, Pool *pool)
{
  Rows c = {.a = p, .b = t, .dst = loss, .n = n};
  span_run(pool, rows, n, mse_body, &c);
}

static void mse_grad_body(void *context, int64_t first, int64_t count)
{
  const Rows *c = context;
  const float *p = c->a + first, *t = c->b + first, scale = c->factor;
  float *dp = c->dst + first;
  const bool accumulate = c->accumulate;
  ASSIGN(count, dp, scale * (p[i] - t[i]));
}

static void mse_grad(float scale, const float *p, const float *t, float *dp, bool accumulate,
                     int64_t n, Pool *pool)
{
  Rows c = {.factor = scale, .a = p, .b = t, .dst = dp, .accumulate = accumulate};
  span_run(pool, n, 1, mse_grad_body, &c);
}

static void cce_body(void *context, int64_t first, int64_t count)
{
  const Rows *c = context;
  for (int64_t row = first; row < first + count; ++row) {
    const float *p = c->a + row * c->n, *t = c->b + row * c->n;
    double sum = 0;
    for (int64_t i = 0; i < c->n; ++i) {
      // Most targets are one-hot: a finite logarithm times 0 adds nothing.
      if (t[i] != 0 || !(p[i] < INFINITY))
        sum += (double)t[i] * logf(p[i] < P_MIN ? P_MIN : p[i]);
    }
    c->dst[row] = (float)-sum;
  }
}

static void cce(const float *p, const float *t, float *loss, int64_t rows, int64_t n, Pool *pool)
{
  Rows c = {.a = p, .b = t, .dst = loss, .n = n};
  span_run(pool, rows, EXP_COST * n, cce_body, &c);
}

static void cce_grad_body(void *context, int64_t first, int64_t count)
{
  const Rows *c = context;
  const float *p = c->a + first, *t = c->b + first, scale = -c->factor;
  float *dp = c->dst + first;
  const bool accumulate = c->accumulate;
  ASSIGN(count, dp, scale * t[i] / vm_select(p[i] < P_MIN, P_MIN, p[i]));
}

static void cce_grad(float scale, const float *p, const float *t, float *dp, bool accumulate,
                     int64_t n, Pool *pool)
{
  Rows c = {.factor = scale, .a = p, .b = t, .dst = dp, .accumulate = accumulate};
  span_run(pool, n, 2, cce_grad_body, &c);
}

// sum of e^(z - m)
static double add_exp_row(const float *z, float m, int64_t n)
{
  enum { STEP = 512 };
  float e[STEP];
  double sum = 0;
  for (int64_t k = 0; k < n; k += STEP) {
    const int64_t count = n - k < STEP ? n - k : STEP;
    LOOP(count, e[i] = vm_exp(z[k + i] - m));
    sum += add_row_block(e, e, count);
  }
  return sum;
}

static void cce_logits_body(void *context, int64_t first, int64_t count)
{
  const Rows *c = context;
  const int64_t n = c->n;
  for (int64_t row = first; row < first + count; ++row) {
    const float *z = c->a + row * n, *t = c->b + row * n;
    const float m = n > 0 ? max_row(z, n) : 0;
    const double log_sum = log(add_exp_row(z, m, n));
    double sum = 0;
    for (int64_t i = 0; i < n; ++i)
      sum += t[i] * (log_sum - ((double)z[i] - m));
    c->dst[row] = (float)sum;
  }
}

static void cce_logits(const float *z, const float *t, float *loss, int64_t rows, int64_t n,
                       Pool *pool)
{
  Rows c = {.a = z, .b = t, .dst = loss, .n = n};
  span_run(pool, rows, EXP_COST * n, cce_logits_body, &c);
}

static void cce_logits_grad_body(void *context, int64_t first, int64_t count)
{
  const Rows *c = context;
  const int64_t n = c->n;
  const float scale = c->factor;
  const bool accumulate = c->accumulate;
  for (int64_t row = first; row < first + count; ++row) {
    const float *z = c->a + row * n, *t = c->b + row * n;
    float *dz = c->dst + row * n;
    const float m = max_row(z, n);
    const float r = (float)(add_row(t, t, n) / add_exp_row(z, m, n));
    ASSIGN(n, dz, scale * (vm_exp(z[i] - m) * r - t[i]));
  }
}

static void cce_logits_grad(float scale, const float *z, const float *t, float *dz,
                            bool accumulate, int64_t rows, int64_t n, Pool *pool)
{
  Rows c = {.factor = scale, .a = z, .b = t, .dst = dz, .accumulate = accumulate, .n = n};
  if (n > 0)
    span_run(pool, rows, 2 * EXP_COST * n, cce_logits_grad_body, &c);
}

static void softmax_cce_grad_body(void *context, int64_t first, int64_t count)
{
  const Rows *c = context;
  const int64_t n = c->n;
  const float scale = c->factor;
  const bool accumulate = c->accumulate;
  for (int64_t row = first; row < first + count; ++row) {
    const float *p = c->a + row * n, *t = c->b + row * n;
    float *dz = c->dst + row * n;
    const float total = (float)add_row(t, t, n);
    ASSIGN(n, dz, scale * (p[i] * total - t[i]));
  }
}

static void softmax_cce_grad(float scale, const float *p, const float *t, float *dz,
                             bool accumulate, int64_t rows, int64_t n, Pool *pool)
{
  Rows c = {.factor = scale, .a = p, .b = t, .dst = dz, .accumulate = accumulate, .n = n};
  if (n > 0)
    span_run(pool, rows, n, softmax_cce_grad_body, &c);
}

const RowsKernels KERNEL_TABLE(rows) = {
  .sum_scratch = reduce_scratch,
  .sum = reduce_sum,
  .spread = reduce_spread,
  .softmax = softmax,
  .softmax_grad = softmax_grad,
  .mse = mse,
  .mse_grad = mse_grad,
  .cce = cce,
  .cce_grad = cce_grad,
  .cce_logits = cce_logits,
  .cce_logits_grad = cce_logits_grad,
  .softmax_cce_grad = softmax_cce_grad,
};
