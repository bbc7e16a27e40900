// SPDX-License-Identifier: Apache-2.0
// Checks of sums over axes and of the row-wise kernels, softmax and losses.
#include "checkkern.h"

#include "kernels/rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int64_t elements(const ReduceShape *s, bool all)
{
  int64_t n = 1;
  for (int32_t i = 0; i < s->rank; ++i)
    n *= all || !s->reduce[i] ? s->dim[i] : 1;
  return n;
}

// For each element of x in order, the element of y that it belongs to.
static int64_t output_of(const ReduceShape *s, int64_t i)
{
  int64_t at = 0, step = 1;
  for (int32_t d = s->rank - 1; d >= 0; --d) {
    if (!s->reduce[d]) {
      at += i % s->dim[d] * step;
      step *= s->dim[d];
    }
    i /= s->dim[d];
  }
  return at;
}

static ReduceShape random_shape(Check *c)
{
  ReduceShape s = {.rank = (int32_t)check_int(c, 0, 6)};
  int64_t n = 1, limit = check_int(c, 0, 3) == 0 ? 400000 : 20000;
  bool kind = check_int(c, 0, 1), alternate = check_int(c, 0, 4) != 0;
  for (int32_t i = s.rank - 1; i >= 0; --i) {
    s.dim[i] = check_int(c, 0, 50) == 0 ? 0 : check_size(c, 1, check_int(c, 0, 2) ? 200 : 5000);
    if (n * s.dim[i] > limit)
      s.dim[i] = check_int(c, 1, 2);
    n *= s.dim[i];
    s.reduce[i] = kind = alternate ? !kind : check_int(c, 0, 1);
  }
  return s;
}

static const ReduceShape usual_shapes[] = {
  {2, {12544, 24}, {true, false}},  {2, {50000, 3}, {true, false}}, {2, {784, 160}, {true, false}},
  {2, {100, 3000}, {true, false}},  {3, {4, 49, 1280}, {false, true, false}},
  {2, {64, 1000}, {false, true}},   {1, {300000}, {true}}, {3, {8, 5000, 7}, {true, false, true}},
  {4, {3, 50, 7, 90}, {false, true, false, true}}, {2, {100000, 1}, {true, false}},
  {3, {20000, 3, 5}, {true, false, true}}, {2, {3, 70000}, {false, true}},
  {3, {2, 20000, 4}, {false, true, false}},
};
enum { N_USUAL = sizeof usual_shapes / sizeof *usual_shapes };

static void check_sum(Check *c, const RowsKernels *k)
{
  for (int round = 0; round < c->rounds + N_USUAL; ++round) {
    ReduceShape s = round < N_USUAL ? usual_shapes[round] : random_shape(c);
    bool accumulate = check_int(c, 0, 1);
    float scale = check_int(c, 0, 1) ? 1 : check_float(c, -2, 2);
    char text[120] = "";
    for (int32_t i = 0; i < s.rank; ++i)
      snprintf(text + strlen(text), sizeof text - strlen(text), " %lld%s", (long long)s.dim[i],
               s.reduce[i] ? "r" : "");
    check_case(c, "sum%s scale %g accumulate %d", text, (double)scale, accumulate);
    int64_t n = elements(&s, true), outputs = elements(&s, false);
    // All of one sign at times: a bias of rounding then shows.
    float *x = check_input(c, n, check_int(c, 0, 1) ? 0 : -1, 1);
    float *old = check_input(c, outputs, -1, 1);
    double *want = check_doubles(c, outputs), *magnitude = check_doubles(c, outputs);
    for (int64_t i = 0; i < n; ++i) {
      int64_t at = output_of(&s, i);
      want[at] += (double)scale * x[i];
      magnitude[at] += fabs((double)scale * x[i]);
    }
    for (int64_t i = 0; i < outputs; ++i) {
      want[i] += accumulate ? old[i] : 0;
      magnitude[i] += accumulate ? fabs(old[i]) : 0;
    }
    size_t bytes = k->sum_scratch(&s, 1);
    float *first = NULL;
    for (int p = 0; p < CHECK_POOLS; ++p) {
      if (k->sum_scratch(&s, pool_threads(check_pool(c, p))) != bytes)
        check_fail(c, "scratch depends on the thread count");
      float *y = check_output(c, outputs, accumulate ? old : NULL);
      void *scratch = check_scratch(c, bytes);
      k->sum(&s, scale, x, y, accumulate, scratch, check_pool(c, p));
      if (p == 0)
        check_near(c, "y", first = y, want, magnitude, outputs, 1e-6);
      else
        check_bits(c, "y on more threads", y, first, (size_t)outputs * sizeof *y);
    }

    check_case(c, "spread%s scale %g accumulate %d", text, (double)scale, accumulate);
    float *y = check_input(c, outputs, -1, 1), *x_old = check_input(c, n, -1, 1);
    want = check_doubles(c, n), magnitude = check_doubles(c, n);
    for (int64_t i = 0; i < n; ++i) {
      double v = (double)scale * y[output_of(&s, i)], base = accumulate ? x_old[i] : 0;
      want[i] = v + base;
      magnitude[i] = fabs(v) + fabs(base);
    }
    for (int p = 0; p < CHECK_POOLS; ++p) {
      float *dx = check_output(c, n, accumulate ? x_old : NULL);
      k->spread(&s, scale, y, dx, accumulate, check_pool(c, p));
      if (p == 0)
        check_near(c, "x", first = dx, want, magnitude, n, 2e-7);
      else
        check_bits(c, "x on more threads", dx, first, (size_t)n * sizeof *dx);
    }
  }
}

// A sum of a million equal numbers, the worst case of adding one by one.
static void check_long_sum(Check *c, const RowsKernels *k)
{
  static const ReduceShape shapes[] = {{1, {1000000}, {true}}, {2, {1000000, 2}, {true, false}},
                                       {2, {130, 300000}, {false, true}}};
  for (int i = 0; i < 3; ++i) {
    check_case(c, "long sum %d", i);
    int64_t n = elements(&shapes[i], true), outputs = elements(&shapes[i], false);
    float *x = check_input(c, n, 0.1f, 0.1f), *y = check_output(c, outputs, NULL);
    double *want = check_doubles(c, outputs);
    for (int64_t o = 0; o < outputs; ++o)
      want[o] = (double)x[0] * (double)(n / outputs);
    k->sum(&shapes[i], 1, x, y, false, check_scratch(c, k->sum_scratch(&shapes[i], 2)),
           check_pool(c, 1));
    check_near(c, "y", y, want, NULL, outputs, 1e-6);
  }
}

// exp magnifies the rounding of its argument beta * (x - max): size[i] is y (1 + |argument|).
static void softmax_row(double beta, const float *x, int64_t n, double *y, double *size)
{
  double m = beta < 0 ? INFINITY : -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; ++i)
    m = beta < 0 ? fmin(m, x[i]) : fmax(m, x[i]);
  for (int64_t i = 0; i < n; ++i)
    sum += y[i] = exp(beta * (x[i] - m));
  for (int64_t i = 0; i < n; ++i) {
    y[i] /= sum;
    size[i] = y[i] > 0 ? fmax(y[i] * (1 + fabs(beta * (x[i] - m))), 1e-37) : 1e-37;
  }
}

static void add_specials(Check *c, float *x, int64_t n)
{
  static const float some[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f};
  for (int64_t i = 0; i < n; ++i)
    if (check_int(c, 0, 19) == 0)
      x[i] = some[check_int(c, 0, 4)];
  check_input_changed(c, x);
}

static void check_softmax(Check *c, const RowsKernels *k)
{
  for (int round = 0; round < 2 * c->rounds; ++round) {
    int64_t n = check_size(c, 0, 1200), rows = check_size(c, 0, n > 100 ? 40 : 300);
    float beta = check_int(c, 0, 2) ? 1 : check_float(c, -2, 2);
    float range = (float)check_int(c, 1, 60);
    bool special = check_int(c, 0, 3) == 0, accumulate = check_int(c, 0, 1);
    check_case(c, "softmax rows %lld n %lld beta %g special %d", (long long)rows, (long long)n,
               (double)beta, special);
    float *x = check_input(c, rows * n, -range, range);
    if (special)
      add_specials(c, x, rows * n);
    double *want = check_doubles(c, rows * n), *magnitude = check_doubles(c, rows * n);
    for (int64_t r = 0; r < rows; ++r)
      softmax_row(beta, x + r * n, n, want + r * n, magnitude + r * n);
    float *first = NULL;
    for (int p = 0; p < CHECK_POOLS; ++p) {
      float *y = check_output(c, rows * n, p == 1 ? x : NULL);
      k->softmax(beta, p == 1 ? y : x, y, rows, n, check_pool(c, p));
      if (p == 0)
        check_near(c, "y", first = y, want, magnitude, rows * n, 4e-7);
      else
        check_bits(c, "y on more threads", y, first, (size_t)(rows * n) * sizeof *y);
    }

    check_case(c, "softmax_grad rows %lld n %lld beta %g accumulate %d", (long long)rows,
               (long long)n, (double)beta, accumulate);
    float *y = check_input(c, rows * n, 0, 1), *dy = check_input(c, rows * n, -1, 1);
    float *old = check_input(c, rows * n, -1, 1);
    want = check_doubles(c, rows * n), magnitude = check_doubles(c, rows * n);
    for (int64_t r = 0; r < rows; ++r) {
      double dot = 0, size = 0;
      for (int64_t i = r * n; i < (r + 1) * n; ++i) {
        dot += (double)y[i] * dy[i];
        size += fabs((double)y[i] * dy[i]);
      }
      for (int64_t i = r * n; i < (r + 1) * n; ++i) {
        want[i] = (double)beta * y[i] * (dy[i] - dot) + (accumulate ? old[i] : 0);
        magnitude[i] = fabs((double)beta * y[i]) * (fabs(dy[i]) + size) + fabs(old[i]);
      }
    }
    for (int p = 0; p < CHECK_POOLS; ++p) {
      float *dx = check_output(c, rows * n, accumulate ? old : NULL);
      k->softmax_grad(beta, y, dy, dx, accumulate, rows, n, check_pool(c, p));
      if (p == 0)
        check_near(c, "dx", first = dx, want, magnitude, rows * n, 1e-6);
      else
        check_bits(c, "dx on more threads", dx, first, (size_t)(rows * n) * sizeof *dx);
    }
  }
}

// The three losses and their gradients, each against its formula in rows.h.
typedef enum { MSE, CCE, CCE_LOGITS, SOFTMAX_CCE } Loss;

typedef struct {
  Loss kind;
  int64_t rows, n;
  double scale;
  const float *p, *t, *old; // old: gradient to add to, or NULL
  double *loss, *loss_size, *grad, *grad_size;
} Reference;

static double clip(double p)
{
  return p < 1e-20f ? 1e-20f : p;
}

// softmaxed, its_size: room for a row.
static void reference_row(Reference *r, int64_t row, double *softmaxed, double *its_size)
{
  const float *p = r->p + row * r->n, *t = r->t + row * r->n;
  double m = -INFINITY, sum = 0, total = 0, total_size = 0;
  softmax_row(1, p, r->n, softmaxed, its_size);
  for (int64_t i = 0; i < r->n; ++i)
    m = fmax(m, p[i]);
  for (int64_t i = 0; i < r->n; ++i) {
    sum += exp(p[i] - m);
    total += t[i];
    total_size += fabs(t[i]);
  }
  for (int64_t i = 0; i < r->n; ++i) {
    double term = 0, g = 0, size = 0;
    switch (r->kind) {
    case MSE:
      term = (p[i] - (double)t[i]) * (p[i] - (double)t[i]) / (double)r->n;
      g = p[i] - (double)t[i];
      size = fabs(g);
      break;
    case CCE:
      term = -t[i] * log(clip(p[i]));
      g = -t[i] / clip(p[i]);
      size = fabs(g);
      break;
    case CCE_LOGITS:
      term = t[i] * (log(sum) - (p[i] - m));
      g = softmaxed[i] * total - t[i];
      size = its_size[i] * total_size + fabs(t[i]);
      break;
    case SOFTMAX_CCE:
      g = p[i] * total - t[i];
      size = fabs(p[i]) * total_size + fabs(t[i]);
      break;
    }
    r->loss[row] += term;
    // ln 1 and ln(1 + small) have an absolute error of an ulp of 1.
    r->loss_size[row] += fabs(term) + (r->kind == MSE ? 0 : fabs(t[i]));
    double base = r->old ? r->old[row * r->n + i] : 0;
    r->grad[row * r->n + i] = r->scale * g + base;
    r->grad_size[row * r->n + i] = fabs(r->scale) * size + fabs(base);
  }
  if (r->kind == MSE && r->n == 0)
    r->loss[row] = NAN;
}

static void run_loss(const RowsKernels *k, const Reference *r, float *loss, Pool *pool)
{
  if (r->kind == MSE)
    k->mse(r->p, r->t, loss, r->rows, r->n, pool);
  else if (r->kind == CCE)
    k->cce(r->p, r->t, loss, r->rows, r->n, pool);
  else if (r->kind == CCE_LOGITS)
    k->cce_logits(r->p, r->t, loss, r->rows, r->n, pool);
}

static void run_loss_grad(const RowsKernels *k, const Reference *r, float *dp, Pool *pool)
{
  const float scale = (float)r->scale;
  const bool accumulate = r->old;
  if (r->kind == MSE)
    k->mse_grad(scale, r->p, r->t, dp, accumulate, r->rows * r->n, pool);
  else if (r->kind == CCE)
    k->cce_grad(scale, r->p, r->t, dp, accumulate, r->rows * r->n, pool);
  else if (r->kind == CCE_LOGITS)
    k->cce_logits_grad(scale, r->p, r->t, dp, accumulate, r->rows, r->n, pool);
  else
    k->softmax_cce_grad(scale, r->p, r->t, dp, accumulate, r->rows, r->n, pool);
}

// p, t: rows of n. One-hot targets at times, probabilities of 0, NaN and infinity.
static void fill_loss_inputs(Check *c, Reference *r)
{
  bool logits = r->kind == CCE_LOGITS, special = check_int(c, 0, 4) == 0;
  int64_t total = r->rows * r->n;
  float *p = check_input(c, total, logits ? -30 : 0, logits ? 30 : 1);
  float *t = check_input(c, total, r->kind == MSE ? -1 : 0, 1);
  if (check_int(c, 0, 1)) {
    for (int64_t i = 0; i < total; ++i)
      t[i] = 0;
    for (int64_t row = 0; row < r->rows && r->n > 0; ++row)
      t[row * r->n + check_int(c, 0, r->n - 1)] = 1;
  }
  for (int64_t i = 0; i < total && special; ++i)
    if (check_int(c, 0, 9) == 0)
      p[i] = logits ? check_float(c, -200, 200) : check_int(c, 0, 1) ? 0 : 1e-25f;
  if (special && check_int(c, 0, 1))
    add_specials(c, p, total);
  check_input_changed(c, p);
  check_input_changed(c, t);
  r->p = p;
  r->t = t;
}

static void check_losses(Check *c, const RowsKernels *k)
{
  for (int round = 0; round < 4 * c->rounds; ++round) {
    Reference r = {.kind = (Loss)(round % 4), .n = check_size(c, 0, 1200)};
    r.rows = check_size(c, 0, r.n > 100 ? 40 : 300);
    r.scale = check_float(c, -2, 2);
    bool accumulate = check_int(c, 0, 1);
    int64_t total = r.rows * r.n;
    check_case(c, "loss %d rows %lld n %lld scale %g accumulate %d", r.kind, (long long)r.rows,
               (long long)r.n, r.scale, accumulate);
    fill_loss_inputs(c, &r);
    r.old = accumulate ? check_input(c, total, -1, 1) : NULL;
    r.loss = check_doubles(c, r.rows), r.loss_size = check_doubles(c, r.rows);
    r.grad = check_doubles(c, total), r.grad_size = check_doubles(c, total);
    double *softmaxed = check_doubles(c, r.n), *its_size = check_doubles(c, r.n);
    for (int64_t row = 0; row < r.rows; ++row)
      reference_row(&r, row, softmaxed, its_size);
    float *first = NULL, *first_grad = NULL;
    for (int p = 0; p < CHECK_POOLS; ++p) {
      Pool *pool = check_pool(c, p);
      float *loss = check_output(c, r.rows, NULL), *dp = check_output(c, total, r.old);
      run_loss(k, &r, loss, pool);
      run_loss_grad(k, &r, dp, pool);
      if (p == 0) {
        if (r.kind != SOFTMAX_CCE)
          check_near(c, "loss", loss, r.loss, r.loss_size, r.rows, 1e-6);
        check_near(c, "dp", dp, r.grad, r.grad_size, total, 1e-6);
        first = loss, first_grad = dp;
      } else {
        check_bits(c, "loss on more threads", loss, first, (size_t)r.rows * sizeof *loss);
        check_bits(c, "dp on more threads", dp, first_grad, (size_t)total * sizeof *dp);
      }
    }
  }
}

static void bench(Check *c, const RowsKernels *k)
{
  static const ReduceShape shapes[] = {
    {2, {125440, 3}, {true, false}},   {2, {125440, 24}, {true, false}},
    {2, {25088, 96}, {true, false}},   {2, {1568, 1280}, {true, false}},
    {3, {32, 49, 1280}, {false, true, false}}, {2, {4096, 1000}, {false, true}},
    {1, {2000000}, {true}},
  };
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    const ReduceShape *s = &shapes[i];
    check_case(c, "bench");
    int64_t n = elements(s, true);
    float *x = check_input(c, n, -1, 1), *y = check_output(c, elements(s, false), NULL);
    void *scratch = check_scratch(c, k->sum_scratch(s, 2));
    for (int p = 0; p < 2; ++p) {
      CheckBench t = {0};
      while (check_bench_next(&t))
        k->sum(s, 1, x, y, false, scratch, check_pool(c, p));
      check_bench_report(c, &t, 0, 4.0 * (double)n, "sum %lld x %lld x %lld, %d threads",
                         (long long)s->dim[0], (long long)s->dim[1],
                         (long long)(s->rank > 2 ? s->dim[2] : 1), p + 1);
    }
  }
  static const int64_t sizes[][2] = {{32, 10}, {32, 1000}, {100352, 21}};
  for (int i = 0; i < 3; ++i) {
    int64_t rows = sizes[i][0], n = sizes[i][1];
    double bytes = 8.0 * (double)(rows * n);
    check_case(c, "bench");
    float *x = check_input(c, rows * n, -5, 5), *y = check_output(c, rows * n, NULL);
    CheckBench t = {0};
    while (check_bench_next(&t))
      k->softmax(1, x, y, rows, n, NULL);
    check_bench_report(c, &t, 0, bytes, "softmax %lld x %lld", (long long)rows, (long long)n);
    t = (CheckBench){0};
    while (check_bench_next(&t))
      k->cce_logits_grad(1, x, x, y, false, rows, n, NULL);
    check_bench_report(c, &t, 0, bytes, "cce_logits_grad %lld x %lld", (long long)rows,
                       (long long)n);
  }
}

void check_rows(Check *c)
{
  const RowsKernels *k = rows_kernels_for(c->isa);
  if (!k)
    return;
  check_sum(c, k);
  check_long_sum(c, k);
  check_softmax(c, k);
  check_losses(c, k);
  if (c->bench)
    bench(c, k);
}
