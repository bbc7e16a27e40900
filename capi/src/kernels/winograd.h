// SPDX-License-Identifier: Apache-2.0
// Winograd's minimal filtering for 3x3 filters of stride 1 (Lavin & Gray 2016): tiles of 2x2
// results from 4x4 sources in 16 products instead of 36. Private to conv_tmpl.c.
//
//   y = A' [(G w G') . (B' d B)] A          F(2x2, 3x3), also the input gradient
//   dw = C' [(B' d B) . (H dy H')] C        F(3x3, 2x2), the filter gradient
//
// The coefficients are 0, 1 and 1/2, so that rounding errors stay those of a direct sum. Each of the
// 16 positions is a product of matrices, [tiles, channels] [channels, channels], for the block
// product of gemm_core.h.
#ifndef KERNELS_WINOGRAD_H
#define KERNELS_WINOGRAD_H

#include "kernels/conv.h"

#include "kernels/conv_operands.h"
#include "kernels/gemm_core.h"

enum {
  WINO_POINTS = 16,
  WINO_CHANNELS = 32,                       // fewer are not worth transforming
  WINO_PIXELS = 64,                         // fewer neither
  WINO_TILES = 56 / CORE_ROWS * CORE_ROWS,  // of a block
  WINO_PANELS = 64 / CORE_COLS,             // computed at a time
  WINO_COLS = 128,                          // of a task, at least: each transforms its sources
  WINO_TASKS = 16,                          // wanted
  WINO_PACK = 16,                           // channels whose filters are transformed at a time
  WINO_STREAM = 6 * 1024 * 1024,            // floats of a result that no cache will hold
};

// B' d B: d and the results are [4][4].
SIMD_INLINE void wino_source(const Vec *d, Vec *v)
{
  Vec t[16];
  SIMD_UNROLL
  for (int j = 0; j < 4; ++j) {
    t[j] = d[j] - d[8 + j];
    t[4 + j] = d[4 + j] + d[8 + j];
    t[8 + j] = d[8 + j] - d[4 + j];
    t[12 + j] = d[4 + j] - d[12 + j];
  }
  SIMD_UNROLL
  for (int i = 0; i < 16; i += 4) {
    v[i] = t[i] - t[i + 2];
    v[i + 1] = t[i + 1] + t[i + 2];
    v[i + 2] = t[i + 2] - t[i + 1];
    v[i + 3] = t[i + 1] - t[i + 3];
  }
}

// G w G': from [3][3] to [4][4].
SIMD_INLINE void wino_filter(const Vec *w, Vec *u)
{
  Vec t[12];
  SIMD_UNROLL
  for (int j = 0; j < 3; ++j) {
    const Vec ends = 0.5f * (w[j] + w[6 + j]), middle = 0.5f * w[3 + j];
    t[j] = w[j];
    t[3 + j] = ends + middle;
    t[6 + j] = ends - middle;
    t[9 + j] = w[6 + j];
  }
  SIMD_UNROLL
  for (int i = 0; i < 4; ++i) {
    const Vec *row = t + 3 * i;
    const Vec ends = 0.5f * (row[0] + row[2]), middle = 0.5f * row[1];
    u[4 * i] = row[0];
    u[4 * i + 1] = ends + middle;
    u[4 * i + 2] = ends - middle;
    u[4 * i + 3] = row[2];
  }
}

// A' m A: from [4][4] to [2][2].
SIMD_INLINE void wino_result(const Vec *m, Vec *y)
{
  Vec t[8];
  SIMD_UNROLL
  for (int j = 0; j < 4; ++j) {
    t[j] = m[j] + (m[4 + j] + m[8 + j]);
    t[4 + j] = (m[4 + j] - m[8 + j]) - m[12 + j];
  }
  SIMD_UNROLL
  for (int i = 0; i < 2; ++i) {
    const Vec *row = t + 4 * i;
    y[2 * i] = row[0] + (row[1] + row[2]);
    y[2 * i + 1] = (row[1] - row[2]) - row[3];
  }
}

// H g H': from [2][2] to [4][4].
SIMD_INLINE void wino_outgoing(const Vec *g, Vec *u)
{
  Vec t[8];
  SIMD_UNROLL
  for (int j = 0; j < 2; ++j) {
    t[j] = g[j];
    t[2 + j] = 0.5f * (g[j] + g[2 + j]);
    t[4 + j] = 0.5f * (g[j] - g[2 + j]);
    t[6 + j] = g[2 + j];
  }
  SIMD_UNROLL
  for (int i = 0; i < 4; ++i) {
    const Vec a = t[2 * i], b = t[2 * i + 1];
    u[4 * i] = a;
    u[4 * i + 1] = 0.5f * (a + b);
    u[4 * i + 2] = 0.5f * (a - b);
    u[4 * i + 3] = b;
  }
}

// C' m C: from [4][4] to [3][3].
SIMD_INLINE void wino_filter_grad(const Vec *m, Vec *w)
{
  Vec t[12];
  SIMD_UNROLL
  for (int j = 0; j < 4; ++j) {
    const Vec sum = m[4 + j] + m[8 + j];
    t[j] = m[j] + sum;
    t[4 + j] = m[4 + j] - m[8 + j];
    t[8 + j] = sum - m[12 + j];
  }
  SIMD_UNROLL
  for (int i = 0; i < 3; ++i) {
    const Vec *row = t + 4 * i;
    const Vec sum = row[1] + row[2];
    w[3 * i] = row[0] + sum;
    w[3 * i + 1] = row[1] - row[2];
    w[3 * i + 2] = sum - row[3];
  }
}

// Whether every tap of an axis sees the image: else its sums are exactly zero, which differences of
// products may miss.
static inline bool wino_sees(int32_t in, int32_t out, int32_t pad)
{
  return pad >= 0 && pad <= 1 && out > 1 && in > 1 && in > 2 - pad;
}

// Whether a convolution of that shape runs so: rounding errors are those of the tile, not of the
// element, and need sums long enough to be hidden in; so does the work of the transforms.
static inline bool wino_suits(const ConvShape *s)
{
  return s->kh == 3 && s->kw == 3 && s->sh == 1 && s->sw == 1 && s->dh == 1 && s->dw == 1 &&
         s->groups == 1 && !s->is_piece && s->act != KACT_TANH && s->ic >= WINO_CHANNELS &&
         s->oc >= WINO_CHANNELS && s->ic % SIMD_LANES == 0 && s->oc % SIMD_LANES == 0 &&
         (int64_t)s->n * s->oh * s->ow >= WINO_PIXELS &&
         wino_sees(s->ih, s->oh, s->pt) && wino_sees(s->iw, s->ow, s->pl);
}

// One image as the transforms see it: [h, w, c], zeros around it.
typedef struct {
  const float *at;
  int64_t h, w, c;
  const float *zeros; // [c]
} WinoImage;

// Where the size x size pixels from (y, x) on stand.
SIMD_INLINE void wino_pixels(const WinoImage *image, int64_t y, int64_t x, int size,
                             const float **pixels)
{
  if (y >= 0 && x >= 0 && y + size <= image->h && x + size <= image->w) {
    const float *at = image->at + (y * image->w + x) * image->c;
    for (int i = 0; i < size; ++i, at += image->w * image->c)
      for (int j = 0; j < size; ++j)
        pixels[i * size + j] = at + j * image->c;
    return;
  }
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) {
      const int64_t iy = y + i, ix = x + j;
      const bool is_inside = iy >= 0 && iy < image->h && ix >= 0 && ix < image->w;
      pixels[i * size + j] = is_inside ? image->at + (iy * image->w + ix) * image->c : image->zeros;
    }
  }
}

typedef struct {
  const ConvShape *s;
  bool forward;
  ConvOperands o;
  int64_t k, n;                   // channels summed over, and computed
  int64_t src_h, src_w, dst_h, dst_w, pt, pl;
  int64_t tiles_h, tiles_w, tiles; // of an image; of all
  int64_t panels, task_panels;
  bool is_streamed;
  float *packed, *zeros;          // packed: [16, panels, k, CORE_COLS]
  char *workers;
  size_t worker_bytes;
} Wino;

typedef struct {
  float *v, *m;        // [16, tiles, k], [16, tiles, panels at a time]
  const float **rows;
  float **c;
} WinoWork;

static WinoWork wino_lay_out_work(const Wino *p, char *scratch, size_t *bytes)
{
  char *at = scratch;
  WinoWork w;
  w.v = core_take(&at, (size_t)(WINO_POINTS * WINO_TILES * p->k) * sizeof(float));
  w.m = core_take(&at, (size_t)(WINO_POINTS * WINO_TILES * WINO_PANELS * CORE_COLS) *
                         sizeof(float));
  w.rows = core_take(&at, WINO_TILES * sizeof *w.rows);
  w.c = core_take(&at, WINO_TILES * sizeof *w.c);
  *bytes = (size_t)(at - scratch);
  return w;
}

static inline size_t wino_packed_bytes(const Wino *p)
{
  return (size_t)(WINO_POINTS * p->panels * p->k * CORE_COLS) * sizeof(float);
}

// Cuts the work, by the shape only.
static Wino wino_plan(const ConvShape *s, bool forward)
{
  Wino p = {.s = s, .forward = forward};
  p.k = forward ? s->ic : s->oc;
  p.n = forward ? s->oc : s->ic;
  p.src_h = forward ? s->ih : s->oh;
  p.src_w = forward ? s->iw : s->ow;
  p.dst_h = forward ? s->oh : s->ih;
  p.dst_w = forward ? s->ow : s->iw;
  p.pt = forward ? s->pt : 2 - s->pt;
  p.pl = forward ? s->pl : 2 - s->pl;
  p.tiles_h = core_ceil(p.dst_h, 2);
  p.tiles_w = core_ceil(p.dst_w, 2);
  p.tiles = s->n * p.tiles_h * p.tiles_w;
  p.panels = core_ceil(p.n, CORE_COLS);
  p.task_panels = core_ceil(p.panels, WINO_PANELS) * WINO_PANELS;
  while (core_ceil(p.tiles, WINO_TILES) * core_ceil(p.panels, p.task_panels) < WINO_TASKS &&
         p.task_panels * CORE_COLS >= 2 * WINO_COLS)
    p.task_panels = core_ceil(core_ceil(p.task_panels, 2), WINO_PANELS) * WINO_PANELS;
  wino_lay_out_work(&p, NULL, &p.worker_bytes);
  return p;
}

static size_t wino_lay_out(Wino *p, char *scratch, int threads)
{
  char *at = scratch;
  p->packed = core_take(&at, p->s->is_packed ? 0 : wino_packed_bytes(p));
  p->zeros = core_take(&at, (size_t)p->k * sizeof(float));
  p->workers = at;
  return (size_t)(at - scratch) + p->worker_bytes * (size_t)(threads < 1 ? 1 : threads);
}

// Task: the filters of one panel.
static void wino_pack_task(void *context, int panel, int worker)
{
  const Wino *p = context;
  const ConvShape *s = p->s;
  (void)worker;
  float taps[9][WINO_PACK * CORE_COLS] __attribute__((aligned(64)));
  const int64_t col = (int64_t)panel * CORE_COLS, width = core_min(CORE_COLS, p->n - col);
  const int64_t plane = p->panels * p->k * CORE_COLS;
  // The filter's dimension in front of its taps, and that behind them, which is dense.
  const bool front_is_summed = p->forward == s->is_swapped;
  const int64_t tap = front_is_summed ? p->n : p->k;
  const int64_t k_step = front_is_summed ? 9 * tap : 1, n_step = front_is_summed ? 1 : 9 * tap;
  for (int64_t k0 = 0; k0 < p->k; k0 += WINO_PACK) {
    const int64_t k = core_min(WINO_PACK, p->k - k0);
    // The transpose takes the taps the other way round.
    for (int t = 0; t < 9; ++t)
      core_pack(p->o.w + (p->forward ? t : 8 - t) * tap + col * n_step + k0 * k_step, k_step, n_step,
                k, width, CORE_COLS, k, taps[t]);
    float *to = p->packed + (panel * p->k + k0) * CORE_COLS;
    for (int64_t i = 0; i < k * CORE_COLS; i += SIMD_LANES) {
      Vec w[9], u[WINO_POINTS];
      SIMD_UNROLL
      for (int t = 0; t < 9; ++t)
        w[t] = simd_load(taps[t] + i);
      wino_filter(w, u);
      SIMD_UNROLL
      for (int x = 0; x < WINO_POINTS; ++x)
        simd_store(to + x * plane + i, u[x]);
    }
  }
}

// The 2x2 results of one tile: channels j0 .. j0+n-1, from m, with `step` floats between points.
static inline void wino_put(const Wino *p, const float *m, int64_t step, int64_t sample,
                            int64_t y, int64_t x, int64_t j0, int64_t n)
{
  const Vec lo = simd_splat(simd_act_lo(p->o.act)), hi = simd_splat(simd_act_hi(p->o.act));
  const int64_t h = core_min(2, p->dst_h - y), w = core_min(2, p->dst_w - x);
  const int64_t first = ((sample * p->dst_h + y) * p->dst_w + x) * p->n + j0;
  for (int64_t j = 0; j < n; j += SIMD_LANES) {
    Vec in[WINO_POINTS], out[4];
    SIMD_UNROLL
    for (int i = 0; i < WINO_POINTS; ++i)
      in[i] = simd_load(m + i * step + j);
    wino_result(in, out);
    const Vec bias = p->o.bias ? simd_load(p->o.bias + j0 + j) : (Vec){0};
    for (int64_t i = 0; i < 4; ++i) {
      if (i / 2 >= h || i % 2 >= w)
        continue;
      const int64_t at = first + (i / 2 * p->dst_w + i % 2) * p->n + j;
      Vec v = out[i] + bias;
      if (p->o.add)
        v += simd_load(p->o.add + at);
      if (p->o.mask)
        v = simd_gate(simd_load(p->o.mask + at), lo, hi, v);
      else if (p->o.act != KACT_NONE)
        v = simd_clamp(v, lo, hi);
      if (p->is_streamed)
        simd_stream(p->o.dst + at, v);
      else
        simd_store(p->o.dst + at, v);
    }
  }
}

static void wino_task(void *context, int task, int worker)
{
  const Wino *p = context;
  const int64_t blocks = core_ceil(p->tiles, WINO_TILES), per_image = p->tiles_h * p->tiles_w;
  const int64_t tile0 = task % blocks * WINO_TILES, m = core_min(WINO_TILES, p->tiles - tile0);
  const int64_t panel0 = task / blocks * p->task_panels;
  const int64_t panel_end = core_min(p->panels, panel0 + p->task_panels);
  const int64_t height = core_strip_rows(m), k_step = WINO_TILES * p->k;
  size_t unused;
  WinoWork w = wino_lay_out_work(p, p->workers + (size_t)worker * p->worker_bytes, &unused);
  for (int64_t t = 0; t < m; ++t) {
    const int64_t sample = (tile0 + t) / per_image, at = (tile0 + t) % per_image;
    const WinoImage image = {p->o.src + sample * p->src_h * p->src_w * p->k, p->src_h, p->src_w, p->k,
                             p->zeros};
    const float *pixels[WINO_POINTS];
    wino_pixels(&image, at / p->tiles_w * 2 - p->pt, at % p->tiles_w * 2 - p->pl, 4, pixels);
    float *to = w.v + t * p->k;
    for (int64_t c = 0; c < p->k; c += SIMD_LANES) {
      Vec d[WINO_POINTS], v[WINO_POINTS];
      SIMD_UNROLL
      for (int i = 0; i < WINO_POINTS; ++i)
        d[i] = simd_load(pixels[i] + c);
      wino_source(d, v);
      SIMD_UNROLL
      for (int i = 0; i < WINO_POINTS; ++i)
        simd_store(to + i * k_step + c, v[i]);
    }
    w.rows[t / height * CORE_ROWS + t % height] = to;
  }
  const int64_t m_step = WINO_TILES * WINO_PANELS * CORE_COLS;
  for (int64_t panel = panel0; panel < panel_end; panel += WINO_PANELS) {
    const int64_t j0 = panel * CORE_COLS, n = core_min(WINO_PANELS * CORE_COLS, p->n - j0);
    for (int x = 0; x < WINO_POINTS; ++x) {
      for (int64_t t = 0; t < m; ++t)
        w.c[t] = w.m + x * m_step + t * WINO_PANELS * CORE_COLS;
      for (int64_t k0 = 0; k0 < p->k; k0 += CORE_K) {
        CoreBlock q = {.m = m, .n = n, .rows = w.rows, .strip_step = CORE_ROWS, .n_seg = 1,
                       .seg_len = core_min(CORE_K, p->k - k0), .a_offset = x * k_step + k0,
                       .a_step = 1, .b_panel = CORE_COLS * p->k, .b_step = CORE_COLS, .c = w.c,
                       .accumulate = k0 > 0, .act = KACT_NONE};
        q.b = p->packed + ((x * p->panels + panel) * p->k + k0) * CORE_COLS;
        core_block(&q);
      }
    }
    for (int64_t t = 0; t < m; ++t) {
      const int64_t at = (tile0 + t) % per_image;
      wino_put(p, w.m + t * WINO_PANELS * CORE_COLS, m_step, (tile0 + t) / per_image,
               at / p->tiles_w * 2, at % p->tiles_w * 2, j0, n);
    }
  }
  if (p->is_streamed)
    simd_stream_end();
}

static void wino_pack(Wino *p, const float *w, float *packed, Pool *pool)
{
  p->o.w = w;
  p->packed = packed;
  pool_run(pool, (int)p->panels, wino_pack_task, p);
}

static void wino_run(Wino *p, char *scratch, Pool *pool)
{
  wino_lay_out(p, scratch, pool_threads(pool));
  simd_zero(p->zeros, p->k);
  if (p->s->is_packed)
    p->packed = (float *)(uintptr_t)p->o.w;
  else
    wino_pack(p, p->o.w, p->packed, pool);
  p->is_streamed = p->s->n * p->dst_h * p->dst_w * p->n >= WINO_STREAM &&
                   (uintptr_t)p->o.dst % 64 == 0 && p->o.add != p->o.dst;
  pool_run(pool, (int)(core_ceil(p->tiles, WINO_TILES) * core_ceil(p->panels, p->task_panels)),
           wino_task, p);
}

#endif
