// SPDX-License-Identifier: Apache-2.0
// The mechanism of a convolution's forward pass and input gradient: every pixel of the result is a
// sum over taps of a source pixel's channels times a [channels, channels] slice of the filter.
// Private to conv_tmpl.c.
//
// The block product reads the source in place. Taps outside the image read a buffer of zeros; for
// narrow channels the taps of one row, which lie side by side in memory, are one segment, copied
// only at the image's borders.
#ifndef KERNELS_CONV_SWEEP_H
#define KERNELS_CONV_SWEEP_H

#include "kernels/conv.h"

#include "kernels/conv_operands.h"
#include "kernels/gemm_core.h"
#include "kernels/taps.h"

enum {
  SWEEP_ROWS = 32 * CORE_ROWS,   // pixels of a task, at most
  SWEEP_RUN = 512,               // longest segment that joins the taps of a row
  SWEEP_POINTERS = 16 * 1024,    // pointers of a task, about
  SWEEP_COPIES = 128 * 1024,     // floats that a task copies, about
  SWEEP_WEIGHTS = 4 * 1024 * 1024, // floats of packed filters at a time, about
  SWEEP_STREAM = 6 * 1024 * 1024, // floats of a result that no cache will hold until it is read
  SWEEP_TASKS = 32,              // wanted, where the work is enough
};

typedef struct {
  const ConvShape *s;
  bool forward;
  ConvOperands o;
  int32_t dst_h, dst_w;
  int64_t src_c, dst_c, k_c, n_c; // channels; of a group: summed over, computed
  int64_t n_pad;                  // columns of packed filters at a time, multiple of CORE_COLS
  int64_t task_rows, task_cols;
  int64_t col0, n_cols;           // columns of this round
  bool is_joined;                 // a segment is a row of taps, else one tap
  bool is_streamed;               // the result is too large to be read from a cache
  TapAxis y, x;
  float *packed, *zeros;
  char *workers;
  size_t worker_bytes;
} Sweep;

typedef struct {
  const float **rows;
  float **c;
  float *copies;
} SweepWork;

static SweepWork sweep_lay_out_work(const Sweep *p, char *scratch, size_t *bytes)
{
  const ConvShape *s = p->s;
  int64_t rows = core_ceil(p->task_rows, CORE_ROWS) * CORE_ROWS;
  int64_t segments = p->is_joined ? s->kh : (int64_t)s->kh * s->kw;
  int64_t copies = !p->is_joined ? 0 : p->task_rows * s->kh * s->kw * p->k_c;
  char *at = scratch;
  SweepWork w;
  w.rows = core_take(&at, (size_t)(rows * segments) * sizeof *w.rows);
  w.c = core_take(&at, (size_t)p->task_rows * sizeof *w.c);
  w.copies = core_take(&at, (size_t)copies * sizeof(float));
  *bytes = (size_t)(at - scratch);
  return w;
}

// Of the filters of one round.
static size_t sweep_packed_bytes(const Sweep *p)
{
  const ConvShape *s = p->s;
  return (size_t)(s->groups * s->kh * s->kw * p->k_c * p->n_pad) * sizeof(float);
}

static void sweep_lay_out_taps(Sweep *p, char **at)
{
  TapAxis *const axes[] = {&p->y, &p->x};
  for (int i = 0; i < 2; ++i) {
    size_t taps = (size_t)(i == 0 ? p->s->kh : p->s->kw) * sizeof(int32_t);
    axes[i]->classes = core_take(at, (size_t)axes[i]->n_classes * sizeof(TapClass));
    axes[i]->tap = core_take(at, taps);
    axes[i]->offset = core_take(at, taps);
  }
}

static size_t sweep_taps_bytes(Sweep *p)
{
  char *at = NULL;
  sweep_lay_out_taps(p, &at);
  return (size_t)(at - (char *)NULL);
}

static void sweep_fill_taps(Sweep *p)
{
  const ConvShape *s = p->s;
  taps_fill(&p->y, p->forward, p->dst_h, s->kh, s->sh, s->dh, s->pt);
  taps_fill(&p->x, p->forward, p->dst_w, s->kw, s->sw, s->dw, s->pl);
}

// Places everything in scratch (NULL: only measures) for so many threads.
static size_t sweep_lay_out(Sweep *p, char *scratch, int threads)
{
  char *at = scratch;
  sweep_lay_out_taps(p, &at);
  p->packed = core_take(&at, p->s->is_packed ? 0 : sweep_packed_bytes(p));
  int64_t longest = p->is_joined ? p->s->kw * p->k_c : p->k_c;
  p->zeros = core_take(&at, (size_t)longest * sizeof(float));
  p->workers = at;
  return (size_t)(at - scratch) + p->worker_bytes * (size_t)(threads < 1 ? 1 : threads);
}

// Cuts the work, by the shape only.
static Sweep sweep_plan(const ConvShape *s, bool forward)
{
  Sweep p = {.s = s, .forward = forward};
  p.src_c = forward ? s->ic : s->oc;
  p.dst_c = forward ? s->oc : s->ic;
  p.k_c = p.src_c / s->groups;
  p.n_c = p.dst_c / s->groups;
  p.dst_h = forward ? s->oh : s->ih;
  p.dst_w = forward ? s->ow : s->iw;
  p.y = taps_axis(forward, s->sh, s->ih, s->oh);
  p.x = taps_axis(forward, s->sw, s->iw, s->ow);
  const int64_t taps = (int64_t)s->kh * s->kw, k = taps * p.k_c;
  p.is_joined = s->groups == 1 && taps_side_by_side(forward, s->sw, s->dw) && s->kw > 1 &&
                s->kw * p.k_c <= SWEEP_RUN;
  int64_t at_once = SWEEP_WEIGHTS / (k * s->groups > 0 ? k * s->groups : 1);
  p.n_pad = core_min(core_ceil(p.n_c, CORE_COLS), at_once < CORE_COLS ? 1 : at_once / CORE_COLS) *
            CORE_COLS;
  int64_t pixels = (int64_t)s->n * core_ceil(p.dst_h, p.y.dst_step) *
                   core_ceil(p.dst_w, p.x.dst_step);
  p.task_rows = core_min(SWEEP_ROWS, SWEEP_POINTERS / (taps > 0 ? taps : 1));
  if (p.is_joined)
    p.task_rows = core_min(p.task_rows, SWEEP_COPIES / (k > 0 ? k : 1));
  p.task_rows = p.task_rows < CORE_ROWS ? CORE_ROWS : p.task_rows / CORE_ROWS * CORE_ROWS;
  p.task_cols = p.n_pad;
  int64_t classes = (int64_t)p.y.n_classes * p.x.n_classes;
  int64_t k_class = core_ceil(k, classes);
  const int64_t wanted = s->is_piece ? 1 : SWEEP_TASKS;
  while (classes * s->groups * core_ceil(pixels, p.task_rows) * core_ceil(p.n_pad, p.task_cols) <
         wanted) {
    int64_t rows = core_min(pixels, p.task_rows);
    if (2 * rows * p.task_cols * k_class < 4 * CORE_SERIAL_FLOPS)
      break;
    if (rows >= 12 * CORE_ROWS || p.task_cols <= 2 * CORE_COLS) {
      if (rows <= CORE_ROWS)
        break;
      p.task_rows = core_ceil(core_ceil(rows, 2), CORE_ROWS) * CORE_ROWS;
    } else {
      p.task_cols = core_ceil(core_ceil(p.task_cols, 2), CORE_COLS) * CORE_COLS;
    }
  }
  sweep_lay_out_work(&p, NULL, &p.worker_bytes);
  return p;
}

// Packed filters of a class and group: panels of n_taps * k_c rows.
static float *sweep_packed(const Sweep *p, int64_t group, const TapClass *y, const TapClass *x)
{
  const ConvShape *s = p->s;
  int64_t taps = group * s->kh * s->kw + (int64_t)y->first_tap * s->kw +
                 (int64_t)y->n_taps * x->first_tap;
  return p->packed + taps * p->k_c * p->n_pad;
}

// Task: one group and panel, all classes.
static void sweep_pack_task(void *context, int task, int worker)
{
  const Sweep *p = context;
  const ConvShape *s = p->s;
  (void)worker;
  const int64_t panels = core_ceil(p->n_cols, CORE_COLS);
  const int64_t group = task / panels, panel = task % panels, col = panel * CORE_COLS;
  const int64_t width = core_min(CORE_COLS, p->n_cols - col);
  // The filter's dimension in front of its taps, and that behind them, which is dense.
  const bool front_is_summed = p->forward == s->is_swapped;
  const int64_t tap = front_is_summed ? p->n_c : p->k_c, front = (int64_t)s->kh * s->kw * tap;
  const int64_t k_step = front_is_summed ? front : 1, n_step = front_is_summed ? 1 : front;
  const float *first = p->o.w + group * front * (front_is_summed ? p->k_c : p->n_c);
  for (int32_t i = 0; i < p->y.n_classes * p->x.n_classes; ++i) {
    const TapClass *y = &p->y.classes[i / p->x.n_classes];
    const TapClass *x = &p->x.classes[i % p->x.n_classes];
    const int64_t taps = (int64_t)y->n_taps * x->n_taps;
    float *to = sweep_packed(p, group, y, x) + panel * CORE_COLS * taps * p->k_c;
    for (int64_t t = 0; t < taps; ++t, to += CORE_COLS * p->k_c) {
      int64_t ky = p->y.tap[y->first_tap + t / x->n_taps];
      int64_t kx = p->x.tap[x->first_tap + t % x->n_taps];
      core_pack(first + (ky * s->kw + kx) * tap + (p->col0 + col) * n_step, k_step, n_step, p->k_c,
                width, CORE_COLS, p->k_c, to);
    }
  }
}

// One pixel whose source begins at column sx, for n_x taps side by side: zeros outside the image.
static inline void sweep_copy_run(float *dst, const float *row, int64_t sx, int64_t n_x,
                                  int64_t src_w, int64_t c)
{
  int64_t lo = sx < 0 ? core_min(-sx, n_x) : 0;
  int64_t hi = sx + n_x > src_w ? src_w - sx : n_x;
  hi = hi < lo ? lo : hi;
  simd_zero(dst, lo * c);
  simd_copy(dst + lo * c, row + (sx + lo) * c, (hi - lo) * c);
  simd_zero(dst + hi * c, (n_x - hi) * c);
}

// Pointers of n neighbouring pixels for one tap each: columns sx and on of a source row, or NULL
// for one outside the image.
static inline void sweep_point(const Sweep *p, const float *row, int64_t sx, int64_t n,
                               const float **rows)
{
  const int64_t c = p->src_c, step = p->x.src_step, src_w = p->x.src_size;
  const float *zeros = p->zeros;
  if (!row) {
    for (int64_t i = 0; i < n; ++i)
      rows[i] = zeros;
  } else if (sx >= 0 && sx + (n - 1) * step < src_w) {
    for (int64_t i = 0; i < n; ++i)
      rows[i] = row + (sx + i * step) * c;
  } else {
    for (int64_t i = 0; i < n; ++i, sx += step)
      rows[i] = sx >= 0 && sx < src_w ? row + sx * c : zeros;
  }
}

// The same for one row of taps each, side by side in the source, copied where that leaves the
// image. Returns the end of the copies.
static inline float *sweep_point_runs(const Sweep *p, const TapClass *x, const float *row,
                                      int64_t sx, int64_t n, const float **rows, float *copies)
{
  const int64_t c = p->src_c, src_w = p->x.src_size;
  for (int64_t i = 0; i < n; ++i, sx += p->x.src_step) {
    if (!row) {
      rows[i] = p->zeros;
    } else if (sx >= 0 && sx + x->n_taps <= src_w) {
      rows[i] = row + sx * c;
    } else {
      rows[i] = copies;
      sweep_copy_run(copies, row, sx, x->n_taps, src_w, c);
      copies += x->n_taps * c;
    }
  }
  return copies;
}

// All pointers to the source of n pixels of one grid row: to rows[segment * CORE_ROWS + i].
static inline void sweep_fill(const Sweep *p, const TapClass *y, const TapClass *x,
                              const float *image, int64_t gy, int64_t gx, int64_t n,
                              const float **rows, float **copies)
{
  const int32_t *off_y = p->y.offset + y->first_tap, *off_x = p->x.offset + x->first_tap;
  for (int32_t ty = 0; ty < y->n_taps && x->n_taps > 0; ++ty) {
    const int64_t sy = gy * p->y.src_step + off_y[ty], sx = gx * p->x.src_step;
    const float *row =
      sy >= 0 && sy < p->y.src_size ? image + sy * p->x.src_size * p->src_c : NULL;
    if (p->is_joined) {
      *copies = sweep_point_runs(p, x, row, sx + off_x[0], n, rows, *copies);
      rows += CORE_ROWS;
    } else {
      for (int32_t tx = 0; tx < x->n_taps; ++tx, rows += CORE_ROWS)
        sweep_point(p, row, sx + off_x[tx], n, rows);
    }
  }
}

// Sums of m pixels with their pointers filled in: columns j0 .. j0+n-1 of this round.
static void sweep_compute(const Sweep *p, const SweepWork *w, int64_t group, const TapClass *y,
                          const TapClass *x, int64_t m, int64_t j0, int64_t n)
{
  const int64_t taps = (int64_t)y->n_taps * x->n_taps, k = taps * p->k_c;
  CoreBlock q = {.m = m, .rows = w->rows, .a_step = 1, .b_step = CORE_COLS,
                 .b_panel = CORE_COLS * k, .c = w->c};
  q.n_seg = p->is_joined ? y->n_taps : taps;
  q.seg_len = q.n_seg > 0 ? k / q.n_seg : 0;
  q.strip_step = q.n_seg * CORE_ROWS;
  const int64_t n_seg = k > 0 ? q.n_seg : 0, seg_len = q.seg_len;
  // A block of k is some whole segments, or part of one.
  const int64_t segs = seg_len > 0 && seg_len < CORE_K ? CORE_K / seg_len : 1;
  const int64_t part = core_min(seg_len, CORE_K);
  int64_t cols = CORE_B_FLOATS / (segs * part > 0 ? segs * part : 1) / CORE_COLS * CORE_COLS;
  cols = cols < CORE_COLS ? CORE_COLS : cols;
  const float *packed = sweep_packed(p, group, y, x);
  const float *bias = p->o.bias ? p->o.bias + group * p->n_c + p->col0 : NULL;
  for (int64_t j = j0; j < j0 + n; j += cols) {
    q.n = core_min(cols, j0 + n - j);
    int64_t seg = 0, e = 0;
    do {
      q.n_seg = core_min(segs, n_seg - seg);
      q.seg_len = core_min(part, seg_len - e);
      q.rows = w->rows + seg * CORE_ROWS;
      q.a_offset = e;
      const bool is_first = seg == 0 && e == 0;
      q.accumulate = p->o.add || !is_first;
      q.add_offset = is_first && p->o.add ? core_offset(p->o.add, p->o.dst) : 0;
      q.b = packed + j * k + (seg * seg_len + e) * CORE_COLS;
      e += q.seg_len;
      if (e >= seg_len) {
        seg += q.n_seg;
        e = 0;
      }
      bool is_last = seg >= n_seg;
      q.bias = is_last && bias ? bias + j : NULL;
      q.act = is_last ? p->o.act : KACT_NONE;
      q.is_masked = is_last && p->o.mask;
      q.mask_offset = q.is_masked ? core_offset(p->o.mask, p->o.dst) : 0;
      q.is_streamed = p->is_streamed && is_last && is_first && p->o.add != p->o.dst;
      core_block(&q);
    } while (seg < n_seg);
    for (int64_t i = 0; i < m; ++i)
      w->c[i] += cols;
  }
}

static void sweep_task(void *context, int task, int worker)
{
  const Sweep *p = context;
  const int64_t col_tasks = core_ceil(p->n_cols, p->task_cols);
  const TapClass *y = NULL, *x = NULL;
  int64_t left = task, per_row = 0, pixels = 0, grid = 0;
  for (int32_t i = 0; i < p->y.n_classes * p->x.n_classes; ++i) {
    y = &p->y.classes[i / p->x.n_classes];
    x = &p->x.classes[i % p->x.n_classes];
    grid = (int64_t)y->n_grid * x->n_grid;
    pixels = grid * p->s->n;
    per_row = core_ceil(pixels, p->task_rows);
    int64_t tasks = per_row * col_tasks * p->s->groups;
    if (left < tasks)
      break;
    left -= tasks;
  }
  const int64_t i0 = left % per_row * p->task_rows, m = core_min(p->task_rows, pixels - i0);
  const int64_t j0 = left / per_row % col_tasks * p->task_cols;
  const int64_t n = core_min(p->task_cols, p->n_cols - j0), group = left / per_row / col_tasks;
  size_t unused;
  SweepWork w = sweep_lay_out_work(p, p->workers + (size_t)worker * p->worker_bytes, &unused);
  const int64_t height = core_strip_rows(m), image_src = (int64_t)p->y.src_size * p->x.src_size;
  const int64_t segments = p->is_joined ? y->n_taps : (int64_t)y->n_taps * x->n_taps;
  int64_t sample = i0 / grid, gy = i0 % grid / x->n_grid, gx = i0 % x->n_grid;
  float *copies = w.copies;
  for (int64_t i = 0; i < m; i += height) {
    const float **rows = w.rows + i / height * segments * CORE_ROWS;
    const int64_t end = core_min(height, m - i);
    for (int64_t r = 0; r < end;) {
      const int64_t count = core_min(end - r, x->n_grid - gx);
      const float *image = p->o.src + sample * image_src * p->src_c + group * p->k_c;
      sweep_fill(p, y, x, image, gy, gx, count, rows + r, &copies);
      const int64_t dst_y = y->dst0 + gy * p->y.dst_step, dst_x = x->dst0 + gx * p->x.dst_step;
      float *dst = p->o.dst + ((sample * p->dst_h + dst_y) * p->dst_w + dst_x) * p->dst_c +
                   group * p->n_c + p->col0 + j0;
      for (int64_t q = 0; q < count; ++q)
        w.c[i + r + q] = dst + q * p->x.dst_step * p->dst_c;
      r += count;
      gx += count;
      if (gx == x->n_grid) {
        gx = 0;
        if (++gy == y->n_grid) {
          gy = 0;
          ++sample;
        }
      }
    }
  }
  sweep_compute(p, &w, group, y, x, m, j0, n);
  if (p->is_streamed)
    simd_stream_end();
}

static void sweep_run(Sweep *p, char *scratch, Pool *pool)
{
  const ConvShape *s = p->s;
  sweep_lay_out(p, scratch, pool_threads(pool));
  sweep_fill_taps(p);
  if (p->s->is_packed)
    p->packed = (float *)(uintptr_t)p->o.w;
  simd_zero(p->zeros, p->is_joined ? s->kw * p->k_c : p->k_c);
  const int64_t results = (int64_t)s->n * p->dst_h * p->dst_w * p->dst_c;
  p->is_streamed = results >= SWEEP_STREAM && (uintptr_t)p->o.dst % 64 == 0 &&
                   p->n_c % 16 == 0;
  int64_t work = (int64_t)s->n * s->oh * s->ow * s->oc * s->kh * s->kw * (s->ic / s->groups);
  if (2 * work < CORE_SERIAL_FLOPS)
    pool = NULL;
  for (p->col0 = 0; p->col0 < p->n_c; p->col0 += p->n_pad) {
    p->n_cols = core_min(p->n_pad, p->n_c - p->col0);
    if (!p->s->is_packed)
      pool_run(pool, (int)(s->groups * core_ceil(p->n_cols, CORE_COLS)), sweep_pack_task, p);
    int64_t tasks = 0;
    for (int32_t i = 0; i < p->y.n_classes; ++i)
      for (int32_t j = 0; j < p->x.n_classes; ++j)
        tasks += core_ceil((int64_t)p->y.classes[i].n_grid * p->x.classes[j].n_grid * s->n,
                           p->task_rows);
    pool_run(pool, (int)(tasks * s->groups * core_ceil(p->n_cols, p->task_cols)), sweep_task, p);
  }
}

#endif
