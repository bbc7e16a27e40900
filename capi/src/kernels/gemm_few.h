// SPDX-License-Identifier: Apache-2.0
// Products with few rows, which would cost more to pack than to compute: dot products where both
// operands lie along k, sums of rows of B where those lie along n. Private to gemm_tmpl.c.
#ifndef KERNELS_GEMM_FEW_H
#define KERNELS_GEMM_FEW_H

#include "kernels/gemm.h"

#include "kernels/gemm_core.h"

// Tile of dot products, vectors along k.
enum { DOT_ROWS = 3, DOT_COLS = SIMD_LANES == 4 ? 2 : 4, DOT_MAX_ROWS = 32 };
// So short, what a dot product ends with costs more than it, and packing for some rows costs less.
enum { DOT_SHORT_K = 12 * SIMD_LANES, DOT_PACKED_ROWS = 4 };
// Products of so few rows are sums of rows of B, so many columns and rows at a time.
enum { SUM_MAX_ROWS = 3, SUM_COLS = 1024, SUM_K = 4 };

typedef struct {
  const GemmShape *s;
  const float *a, *b, *bias;
  float *c;
  bool accumulate;
  int64_t task_cols, tasks;
  PoolTask task;
} FewProduct;

static bool is_dot(const GemmShape *s)
{
  return s->m <= DOT_MAX_ROWS && s->a_col == 1 && s->b_row == 1 &&
         (s->m < DOT_PACKED_ROWS || s->k > DOT_SHORT_K);
}

static bool is_sum(const GemmShape *s)
{
  return s->m <= SUM_MAX_ROWS && s->b_col == 1 && !is_dot(s);
}

static __attribute__((noinline)) float activate(KernelAct act, float v)
{
  vm_activate(act, &v, 1);
  return v;
}

SIMD_INLINE void dot_tile(const FewProduct *p, int64_t i0, int64_t j0, const int rows,
                          const int cols)
{
  const GemmShape *s = p->s;
  Vec acc[DOT_ROWS][DOT_COLS];
  const float *a = p->a + i0 * s->a_row, *b = p->b + j0 * s->b_col;
  SIMD_UNROLL
  for (int i = 0; i < rows; ++i)
    SIMD_UNROLL
    for (int j = 0; j < cols; ++j)
      acc[i][j] = (Vec){0};
  int64_t e = 0;
  for (; e + SIMD_LANES <= s->k; e += SIMD_LANES) {
    Vec x[DOT_ROWS];
    SIMD_UNROLL
    for (int i = 0; i < rows; ++i)
      x[i] = simd_load(a + i * s->a_row + e);
    SIMD_UNROLL
    for (int j = 0; j < cols; ++j) {
      Vec y = simd_load(b + j * s->b_col + e);
      SIMD_UNROLL
      for (int i = 0; i < rows; ++i)
        acc[i][j] += x[i] * y;
    }
  }
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < cols; ++j) {
      float sum = simd_sum(acc[i][j]);
      for (int64_t k = e; k < s->k; ++k)
        sum += a[i * s->a_row + k] * b[j * s->b_col + k];
      float *c = p->c + (i0 + i) * s->c_row + j0 + j;
      if (p->accumulate)
        sum += *c;
      if (p->bias)
        sum += p->bias[j0 + j];
      *c = s->act == KACT_NONE ? sum : activate(s->act, sum);
    }
  }
}

SIMD_INLINE void dot_rows(const FewProduct *p, int64_t i, int64_t j0, int64_t j1, const int rows)
{
  int64_t j = j0;
  for (; j + DOT_COLS <= j1; j += DOT_COLS)
    dot_tile(p, i, j, rows, DOT_COLS);
  for (; j < j1; ++j)
    dot_tile(p, i, j, rows, 1);
}

static void dot_task(void *context, int task, int worker)
{
  const FewProduct *p = context;
  (void)worker;
  int64_t j0 = task * p->task_cols, n = p->s->n;
  int64_t j1 = j0 + p->task_cols < n ? j0 + p->task_cols : n;
  // Few columns at a time: their k elements are read once from memory for all rows.
  for (int64_t j = j0; j < j1; j += DOT_COLS) {
    int64_t end = j + DOT_COLS < j1 ? j + DOT_COLS : j1;
    int64_t i = 0;
    for (; i + DOT_ROWS <= p->s->m; i += DOT_ROWS)
      dot_rows(p, i, j, end, DOT_ROWS);
    if (i + 2 == p->s->m)
      dot_rows(p, i, j, end, 2);
    else if (i < p->s->m)
      dot_rows(p, i, j, end, 1);
  }
}

// c[n] += sum over rows < SUM_K of a[row * a_step] * b[row * b_step ..]; rows is a constant.
SIMD_INLINE void sum_rows(float *c, int64_t n, const float *a, int64_t a_step, const float *b,
                          int64_t b_step, const int rows)
{
  float x[SUM_K];
  int64_t j = 0;
  SIMD_UNROLL
  for (int r = 0; r < rows; ++r)
    x[r] = a[r * a_step];
  for (; j + SIMD_LANES <= n; j += SIMD_LANES) {
    Vec sum = simd_load(c + j);
    SIMD_UNROLL
    for (int r = 0; r < rows; ++r)
      sum += simd_splat(x[r]) * simd_load(b + r * b_step + j);
    simd_store(c + j, sum);
  }
  for (; j < n; ++j)
    for (int r = 0; r < rows; ++r)
      c[j] += x[r] * b[r * b_step + j];
}

static void sum_task(void *context, int task, int worker)
{
  const FewProduct *p = context;
  const GemmShape *s = p->s;
  (void)worker;
  const int64_t j0 = task * p->task_cols, n = core_min(s->n - j0, p->task_cols);
  float *c = p->c + j0;
  for (int64_t i = 0; i < s->m && !p->accumulate; ++i)
    simd_zero(c + i * s->c_row, n);
  for (int64_t k = 0; k < s->k; k += SUM_K) {
    const float *b = p->b + k * s->b_row + j0;
    for (int64_t i = 0; i < s->m; ++i) {
      const float *a = p->a + i * s->a_row + k * s->a_col;
      if (s->k - k >= SUM_K)
        sum_rows(c + i * s->c_row, n, a, s->a_col, b, s->b_row, SUM_K);
      else
        for (int64_t r = 0; r < s->k - k; ++r)
          sum_rows(c + i * s->c_row, n, a + r * s->a_col, 0, b + r * s->b_row, 0, 1);
    }
  }
  for (int64_t i = 0; i < s->m; ++i) {
    for (int64_t j = 0; j < n && p->bias; ++j)
      c[i * s->c_row + j] += p->bias[j0 + j];
    vm_activate(s->act, c + i * s->c_row, n);
  }
}

// Chooses task and grid by p->s, if its rows are few; both kinds need no scratch.
static bool plan_few(FewProduct *p)
{
  const GemmShape *s = p->s;
  if (is_dot(s)) {
    p->task_cols = core_ceil(CORE_SERIAL_FLOPS, 2 * (s->m * s->k + 1));
    p->task_cols = core_ceil(p->task_cols, DOT_COLS) * DOT_COLS;
    p->task = dot_task;
  } else if (is_sum(s)) {
    p->task_cols = SUM_COLS;
    while (p->task_cols > 64 && s->m * s->k * p->task_cols > 2 * CORE_SERIAL_FLOPS &&
           core_ceil(s->n, p->task_cols) < 16)
      p->task_cols /= 2;
    p->task = sum_task;
  } else {
    return false;
  }
  p->tasks = core_ceil(s->n, p->task_cols);
  return true;
}

#endif
