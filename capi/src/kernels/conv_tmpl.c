// SPDX-License-Identifier: Apache-2.0
// Convolution in its three directions, compiled once per instruction set.
//
// Forward and input gradient are sweeps, see conv_sweep.h. The filter gradient is the product of
// dy, transposed, with the windows of x: [oc, pixels] [pixels, taps * ic]. Pixels are cut into
// chunks by the shape only; chunks add up in a tree whose form depends on their number only.
#include "kernels/conv.h"

#include "kernels/conv_sweep.h"

enum {
  FILTER_K = 256,                     // pixels that are packed at a time
  FILTER_IN_PLACE = 6 * 1024,         // floats of dy and x that stay in a first-level cache
  FILTER_ROWS = 32 * CORE_ROWS,       // filters of a task, at most
  FILTER_TASKS = 16,                  // wanted
  FILTER_PARTIALS = 2 * 1024 * 1024,  // floats of all chunks' partial sums, at most
  FILTER_REDUCE = 16 * 1024,          // elements of one task of the reduction
};

typedef struct {
  const ConvShape *s;
  const float *x, *dy;
  float *dw;
  bool accumulate;
  int64_t m, n;           // of one group: filters, taps * channels
  int64_t pixels, pixels_per_chunk, chunks;
  int64_t block;          // pixels at a time
  bool pack_a, pack_b;
  int64_t task_rows, task_cols, row_tasks, col_tasks;
  float *partials;        // [chunks, oc, n]; unused for one chunk
  char *workers;
  size_t worker_bytes;
} FilterGrad;

typedef struct {
  float *a, *b;
  const float **rows;
  float **c;
} FilterWork;

static FilterWork lay_out_work(const FilterGrad *p, char *scratch, size_t *bytes)
{
  char *at = scratch;
  const int64_t rows = core_ceil(p->task_rows, CORE_ROWS) * CORE_ROWS;
  FilterWork w;
  w.a = core_take(&at, p->pack_a ? (size_t)(rows * p->block) * sizeof(float) : 0);
  w.b = core_take(&at, (size_t)core_packed_floats(p->block, p->pack_b ? p->task_cols : CORE_COLS) *
                         sizeof(float));
  w.rows = core_take(&at, (size_t)rows * sizeof *w.rows);
  w.c = core_take(&at, (size_t)p->task_rows * sizeof *w.c);
  *bytes = (size_t)(at - scratch);
  return w;
}

static bool is_pointwise(const ConvShape *s)
{
  return s->kh == 1 && s->kw == 1 && s->sh == 1 && s->sw == 1 && s->pt == 0 && s->pl == 0 &&
         s->ih == s->oh && s->iw == s->ow;
}

static FilterGrad plan_filter_grad(const ConvShape *s)
{
  FilterGrad p = {.s = s};
  p.m = s->oc / s->groups;
  p.n = (int64_t)s->kh * s->kw * (s->ic / s->groups);
  p.pixels = (int64_t)s->n * s->oh * s->ow;
  p.block = FILTER_K;
  p.pack_a = p.pack_b = true;
  p.task_rows = sweep_min(p.m, FILTER_ROWS);
  p.task_cols = sweep_min(core_ceil(p.n, CORE_COLS) * CORE_COLS,
                          CORE_B_FLOATS / FILTER_K / CORE_COLS * CORE_COLS);
  // Rows of both operands in place where some 32 pixels of them fit the first-level cache.
  int64_t in_place = FILTER_IN_PLACE / (s->oc + s->ic > 0 ? s->oc + s->ic : 1);
  if (is_pointwise(s) && in_place >= 32) {
    p.pack_a = p.pack_b = false;
    p.block = sweep_min(in_place, FILTER_K);
  }
  p.row_tasks = core_ceil(p.m, p.task_rows);
  p.col_tasks = core_ceil(p.n, p.task_cols);
  int64_t tasks = p.row_tasks * p.col_tasks * s->groups, size = s->oc * p.n;
  int64_t chunks = sweep_min(FILTER_TASKS / tasks, FILTER_PARTIALS / (size > 0 ? size : 1));
  chunks = sweep_min(chunks, 2 * p.pixels * s->oc * p.n / (8 * CORE_SERIAL_FLOPS));
  chunks = chunks < 1 ? 1 : chunks;
  p.pixels_per_chunk = core_ceil(core_ceil(p.pixels, chunks), 8) * 8;
  p.chunks = p.pixels > 0 ? core_ceil(p.pixels, p.pixels_per_chunk) : 1;
  lay_out_work(&p, NULL, &p.worker_bytes);
  return p;
}

static size_t lay_out_filter_grad(FilterGrad *p, char *scratch, int threads)
{
  char *at = scratch;
  size_t partials = p->chunks > 1 ? (size_t)(p->chunks * p->s->oc * p->n) * sizeof(float) : 0;
  p->partials = core_take(&at, partials);
  p->workers = at;
  return (size_t)(at - scratch) + p->worker_bytes * (size_t)(threads < 1 ? 1 : threads);
}

// Packs, for count pixels from p0 on, `width` columns that lie in one tap, or in several side by
// side in memory, beginning with channel-within-the-row e (tap kx * channels + channel).
static void pack_piece(const FilterGrad *p, int64_t group, int64_t p0, int64_t count, int64_t ky,
                       int64_t e, int64_t width, float *dst)
{
  const ConvShape *s = p->s;
  const int64_t cg = s->ic / s->groups, kx = e / cg, channel = group * cg + e % cg;
  int64_t sample = p0 / ((int64_t)s->oh * s->ow), oy = p0 / s->ow % s->oh, ox = p0 % s->ow;
  while (count > 0) {
    const int64_t here = sweep_min(count, s->ow - ox);
    const int64_t iy = oy * s->sh + ky * s->dh - s->pt;
    if (iy < 0 || iy >= s->ih) {
      for (int64_t i = 0; i < here; ++i, dst += CORE_COLS)
        sweep_zero(dst, width);
    } else {
      const float *row = p->x + (sample * s->ih + iy) * s->iw * s->ic;
      int64_t ix = ox * s->sw + kx * s->dw - s->pl;
      // A piece of several taps reaches to the right by whole pixels.
      const int64_t begin = e % cg, last_tap = (begin + width - 1) / cg;
      for (int64_t i = 0; i < here; ++i, ix += s->sw, dst += CORE_COLS) {
        if (ix >= 0 && ix + last_tap < s->iw) {
          sweep_copy(dst, row + ix * s->ic + channel, width);
          continue;
        }
        int64_t lo = ix < 0 ? sweep_min(-ix * cg - begin, width) : 0;
        int64_t hi = sweep_min((s->iw - ix) * cg - begin, width);
        lo = lo < 0 ? 0 : lo;
        hi = hi < lo ? lo : hi;
        sweep_zero(dst, lo);
        sweep_copy(dst + lo, row + ix * s->ic + channel + lo, hi - lo);
        sweep_zero(dst + hi, width - hi);
      }
    }
    count -= here;
    ox = 0;
    if (++oy == s->oh) {
      oy = 0;
      ++sample;
    }
  }
}

// Columns j0 .. j0+n-1 of the windows of count pixels, as panels.
static void pack_windows(const FilterGrad *p, int64_t group, int64_t p0, int64_t count, int64_t j0,
                         int64_t n, float *dst)
{
  const ConvShape *s = p->s;
  const int64_t cg = s->ic / s->groups, row = s->kw * cg;
  const int64_t joined = s->groups == 1 && s->dw == 1 ? row : cg;
  for (int64_t j = 0; j < n; j += CORE_COLS, dst += CORE_COLS * count) {
    const int64_t width = sweep_min(CORE_COLS, n - j);
    for (int64_t i = 0; i < width;) {
      const int64_t at = j0 + j + i, piece = sweep_min(joined - at % joined, width - i);
      pack_piece(p, group, p0, count, at / row, at % row, piece, dst + i);
      i += piece;
    }
    for (int64_t k = 0; k < count && width < CORE_COLS; ++k)
      sweep_zero(dst + k * CORE_COLS + width, CORE_COLS - width);
  }
}

static void filter_task(void *context, int task, int worker)
{
  const FilterGrad *p = context;
  const ConvShape *s = p->s;
  int64_t left = task;
  const int64_t i0 = left % p->row_tasks * p->task_rows;
  left /= p->row_tasks;
  const int64_t j0 = left % p->col_tasks * p->task_cols;
  left /= p->col_tasks;
  const int64_t group = left % s->groups, chunk = left / s->groups;
  const int64_t m = sweep_min(p->task_rows, p->m - i0), n = sweep_min(p->task_cols, p->n - j0);
  const int64_t height = core_strip_rows(m), first = chunk * p->pixels_per_chunk;
  const int64_t end = sweep_min(p->pixels, first + p->pixels_per_chunk);
  size_t unused;
  FilterWork w = lay_out_work(p, p->workers + (size_t)worker * p->worker_bytes, &unused);
  float *to = p->chunks > 1 ? p->partials + chunk * s->oc * p->n : p->dw;
  for (int64_t i = 0; i < m; ++i)
    w.c[i] = to + (group * p->m + i0 + i) * p->n + j0;
  CoreBlock q = {.m = m, .n = n, .rows = w.rows, .strip_step = CORE_ROWS, .n_seg = 1,
                 .a_step = p->pack_a ? height : s->oc, .b = w.b, .b_step = CORE_COLS, .c = w.c,
                 .act = KACT_NONE};
  int64_t at = first;
  do {
    const int64_t k = end > at ? sweep_min(p->block, end - at) : 0;
    q.seg_len = k;
    q.accumulate = at > first || (p->chunks == 1 && p->accumulate);
    const float *dy = p->dy + at * s->oc + group * p->m + i0;
    if (p->pack_a)
      core_pack(dy, s->oc, 1, k, m, height, k, w.a);
    for (int64_t i = 0; i < m; ++i)
      w.rows[i / height * CORE_ROWS + i % height] =
        p->pack_a ? w.a + i / height * height * k + i % height : dy + i;
    if (p->pack_b) {
      pack_windows(p, group, at, k, j0, n, w.b);
      q.b_panel = CORE_COLS * k;
    } else {
      q.b = p->x + at * s->ic + group * p->n + j0;
      q.b_step = s->ic;
      q.b_panel = CORE_COLS;
      const int64_t part = n % CORE_COLS;
      if (part % SIMD_LANES) {
        core_pack(q.b + n - part, s->ic, 1, k, part, CORE_COLS, k, w.b);
        q.b_last = w.b;
      }
    }
    core_block(&q);
    at += p->block;
  } while (at < end);
}

// dw (+)= the chunks' sums, added in pairs of neighbours, pairs of pairs and so on.
static void reduce_task(void *context, int task, int worker)
{
  const FilterGrad *p = context;
  (void)worker;
  const int64_t size = p->s->oc * p->n, from = (int64_t)task * FILTER_REDUCE;
  const int64_t n = sweep_min(FILTER_REDUCE, size - from);
  for (int64_t step = 1; step < p->chunks; step *= 2) {
    for (int64_t chunk = 0; chunk + step < p->chunks; chunk += 2 * step) {
      float *a = p->partials + chunk * size + from;
      const float *b = a + step * size;
      for (int64_t i = 0; i < n; ++i)
        a[i] += b[i];
    }
  }
  for (int64_t i = 0; i < n; ++i)
    p->dw[from + i] = p->partials[from + i] + (p->accumulate ? p->dw[from + i] : 0);
}

static size_t filter_grad_scratch(const ConvShape *s, int threads)
{
  if ((int64_t)s->oc * s->kh * s->kw * (s->ic / s->groups) <= 0)
    return 0;
  FilterGrad p = plan_filter_grad(s);
  return lay_out_filter_grad(&p, NULL, threads);
}

static void filter_grad(const ConvShape *s, const float *x, const float *dy, float *dw,
                        bool accumulate, void *scratch, Pool *pool)
{
  if ((int64_t)s->oc * s->kh * s->kw * (s->ic / s->groups) <= 0)
    return;
  FilterGrad p = plan_filter_grad(s);
  p.x = x;
  p.dy = dy;
  p.dw = dw;
  p.accumulate = accumulate;
  lay_out_filter_grad(&p, scratch, pool_threads(pool));
  if (2 * p.pixels * s->oc * p.n < CORE_SERIAL_FLOPS)
    pool = NULL;
  pool_run(pool, (int)(p.chunks * s->groups * p.col_tasks * p.row_tasks), filter_task, &p);
  if (p.chunks > 1)
    pool_run(pool, (int)core_ceil(s->oc * p.n, FILTER_REDUCE), reduce_task, &p);
}

static bool has_result(const ConvShape *s, bool is_forward)
{
  return s->n > 0 && (is_forward ? (int64_t)s->oh * s->ow * s->oc : (int64_t)s->ih * s->iw * s->ic) > 0;
}

static size_t scratch_of(const ConvShape *s, int threads, bool is_forward)
{
  if (!has_result(s, is_forward))
    return 0;
  Sweep p = sweep_plan(s, is_forward);
  return sweep_lay_out(&p, NULL, threads);
}

static size_t forward_scratch(const ConvShape *s, int threads)
{
  return scratch_of(s, threads, true);
}

static size_t input_grad_scratch(const ConvShape *s, int threads)
{
  return scratch_of(s, threads, false);
}

static void forward(const ConvShape *s, const float *x, const float *w, const float *bias,
                    float *y, void *scratch, Pool *pool)
{
  if (!has_result(s, true))
    return;
  Sweep p = sweep_plan(s, true);
  p.src = x;
  p.w = w;
  p.bias = bias;
  p.dst = y;
  sweep_run(&p, scratch, pool);
}

static void input_grad(const ConvShape *s, const float *dy, const float *w, float *dx,
                       bool accumulate, void *scratch, Pool *pool)
{
  if (!has_result(s, false))
    return;
  Sweep p = sweep_plan(s, false);
  p.src = dy;
  p.w = w;
  p.dst = dx;
  p.accumulate = accumulate;
  sweep_run(&p, scratch, pool);
}

extern const ConvKernels KERNEL_TABLE(conv);
const ConvKernels KERNEL_TABLE(conv) = {
  .forward_scratch = forward_scratch,
  .forward = forward,
  .input_grad_scratch = input_grad_scratch,
  .input_grad = input_grad,
  .filter_grad_scratch = filter_grad_scratch,
  .filter_grad = filter_grad,
};
