// SPDX-License-Identifier: Apache-2.0
// The filter gradient of a convolution: the product of dy, transposed, with the windows of x,
// [oc, pixels] [pixels, taps * ic]. Private to conv_tmpl.c.
//
// Pixels are cut into chunks by the shape only; chunks add up in a tree whose form depends on their
// number only. Windows of a few elements are not worth packing: there the transposed product is
// computed, for which the windows are read from padded copies of the image rows, and dy in place.
// 3x3 filters of stride 1 go through Winograd's transforms, a chunk being whole rows of tiles.
#ifndef KERNELS_CONV_FILTER_H
#define KERNELS_CONV_FILTER_H

#include "kernels/conv.h"

#include "kernels/chunks.h"
#include "kernels/winograd.h"

enum {
  FILTER_K = 256,                     // pixels that are packed at a time
  FILTER_IN_PLACE = 6 * 1024,         // floats of dy and x that stay in a first-level cache
  FILTER_ROWS = 32 * CORE_ROWS,       // filters of a task, at most
  FILTER_TASKS = 16,                  // wanted
  FILTER_PARTIALS = 2 * 1024 * 1024,  // floats of all chunks' partial sums, at most
  FILTER_REDUCE = 16 * 1024,          // elements of one task of the reduction
  FILTER_FEW = 64,                    // elements of a window that are few
  FILTER_FEW_BLOCK = 16 * 1024,       // floats of dy at a time there, about
  FILTER_WINO_SIDE = 128,             // filters and channels of a task through Winograd, at most
  FILTER_WINO_TILES = 64,             // at a time there
};

typedef struct {
  const ConvShape *s;
  const float *x, *dy;
  float *dw, *db;         // db: NULL where not wanted
  bool accumulate;
  int64_t m, n;           // of one group: filters, taps * channels
  int64_t pixels, chunks, per_chunk; // pixels per chunk; of Winograd: rows of tiles
  bool is_few;            // partials are [chunks, n, oc], and chunks whole rows of dy
  bool has_partials;      // else the one chunk is summed in dw
  bool is_winograd;       // task_cols are channels, and chunks whole rows of tiles
  int64_t block_rows;     // of dy, at a time
  int64_t block;          // pixels at a time
  bool is_pointwise, pack_a, pack_b;
  int64_t task_rows, task_cols, row_tasks, col_tasks;
  float *partials;        // [chunks, oc, n]
  float *bias_partials;   // [chunks, oc]
  char *workers;
  size_t worker_bytes;
} FilterGrad;

typedef struct {
  // Packed; of few: padded image rows, last panel; of Winograd: transformed dy [16, tiles,
  // task_rows] and x, in panels [16, panels, tiles, CORE_COLS].
  float *a, *b;
  float *sums, *zeros;  // of Winograd: [16, task_rows, task_cols]; a pixel outside the image
  const float **rows;
  float **c;
} FilterWork;

// Padded rows of x that block_rows rows of dy see: [rows, columns, ic].
static int64_t padded_columns(const ConvShape *s)
{
  return (int64_t)(s->ow - 1) * s->sw + (int64_t)(s->kw - 1) * s->dw + 1;
}

static int64_t padded_rows(const ConvShape *s, int64_t block_rows)
{
  return (block_rows - 1) * s->sh + (int64_t)(s->kh - 1) * s->dh + 1;
}

static FilterWork lay_out_work(const FilterGrad *p, char *scratch, size_t *bytes)
{
  char *at = scratch;
  const int64_t rows = core_ceil(p->task_rows, CORE_ROWS) * CORE_ROWS;
  FilterWork w = {0};
  if (p->is_winograd) {
    const size_t tiles = WINO_POINTS * FILTER_WINO_TILES * sizeof(float);
    w.a = core_take(&at, tiles * (size_t)p->task_rows);
    w.b = core_take(&at, tiles * (size_t)p->task_cols);
    w.sums = core_take(&at, (size_t)(WINO_POINTS * p->task_rows * p->task_cols) * sizeof(float));
    w.zeros = core_take(&at, FILTER_WINO_SIDE * sizeof(float));
    w.rows = core_take(&at, (size_t)rows * sizeof *w.rows);
    w.c = core_take(&at, (size_t)p->task_rows * sizeof *w.c);
    *bytes = (size_t)(at - scratch);
    return w;
  }
  if (p->is_few) {
    const ConvShape *s = p->s;
    const int64_t strips = core_ceil(p->n, CORE_ROWS);
    w.a = core_take(&at, (size_t)(padded_rows(s, p->block_rows) * padded_columns(s) * s->ic) *
                           sizeof(float));
    w.b = core_take(&at, (size_t)(CORE_COLS * p->block_rows * s->ow) * sizeof(float));
    w.rows = core_take(&at, (size_t)(strips * CORE_ROWS * p->block_rows) * sizeof *w.rows);
    w.c = core_take(&at, (size_t)p->n * sizeof *w.c);
    *bytes = (size_t)(at - scratch);
    return w;
  }
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
  p.task_rows = core_min(p.m, FILTER_ROWS);
  p.task_cols = core_min(core_ceil(p.n, CORE_COLS) * CORE_COLS,
                          CORE_B_FLOATS / FILTER_K / CORE_COLS * CORE_COLS);
  // Rows of both operands in place where some 32 pixels of them fit the first-level cache.
  int64_t in_place = FILTER_IN_PLACE / (s->oc + s->ic > 0 ? s->oc + s->ic : 1);
  p.is_pointwise = is_pointwise(s);
  if (p.is_pointwise && in_place >= 32) {
    p.pack_a = p.pack_b = false;
    p.block = core_min(in_place, FILTER_K);
  }
  p.is_few = (!p.is_pointwise || p.n < s->oc) && s->groups == 1 && p.n <= FILTER_FEW && p.pixels > 0;
  if (p.is_few) {
    p.block_rows = FILTER_FEW_BLOCK / ((int64_t)s->ow * s->oc);
    p.block_rows = p.block_rows < 1 ? 1 : core_min(p.block_rows, s->oh);
    p.task_rows = p.m;
    p.task_cols = p.n;
  }
  p.is_winograd = wino_suits(s);
  int64_t columns = p.n, unit = p.is_few ? s->ow : 8, units = core_ceil(p.pixels, unit);
  if (p.is_winograd) {
    p.task_rows = core_min(p.m, FILTER_WINO_SIDE);
    p.task_cols = FILTER_WINO_SIDE / CORE_COLS * CORE_COLS;
    columns = s->ic;
    units = s->n * core_ceil(s->oh, 2);
    unit = 1;
  }
  p.row_tasks = core_ceil(p.m, p.task_rows);
  p.col_tasks = core_ceil(columns, p.task_cols);
  p.task_cols = core_ceil(core_ceil(columns, p.col_tasks), CORE_COLS) * CORE_COLS;
  p.col_tasks = core_ceil(columns, p.task_cols);
  int64_t tasks = p.row_tasks * p.col_tasks * s->groups, size = s->oc * p.n;
  int64_t chunks = core_min(FILTER_TASKS / tasks, FILTER_PARTIALS / (size > 0 ? size : 1));
  chunks = core_min(chunks, 2 * p.pixels * s->oc * p.n / (8 * CORE_SERIAL_FLOPS));
  chunks = chunks < 1 || s->is_piece ? 1 : chunks;
  p.per_chunk = core_ceil(units, chunks) * unit;
  p.chunks = units > 0 ? core_ceil(units * unit, p.per_chunk) : 1;
  p.has_partials = p.chunks > 1 || p.is_few || s->is_swapped;
  lay_out_work(&p, NULL, &p.worker_bytes);
  return p;
}

static size_t lay_out_filter_grad(FilterGrad *p, char *scratch, int threads)
{
  char *at = scratch;
  size_t partials = p->has_partials ? (size_t)(p->chunks * p->s->oc * p->n) * sizeof(float) : 0;
  p->partials = core_take(&at, partials);
  p->bias_partials = core_take(&at, (size_t)(p->chunks * p->s->oc) * sizeof(float));
  p->workers = at;
  return (size_t)(at - scratch) + p->worker_bytes * (size_t)(threads < 1 ? 1 : threads);
}

// Row of packed panels: `count` floats (src NULL: zeros) to columns col and up of row k, where the
// panels have dst_k rows.
static inline void put_row(float *dst, int64_t dst_k, int64_t k, int64_t col, const float *src,
                           int64_t count)
{
  while (count > 0) {
    const int64_t in_panel = col % CORE_COLS;
    float *to = dst + (col - in_panel) * dst_k + k * CORE_COLS + in_panel;
    int64_t n = core_min(count, CORE_COLS - in_panel);
    if (n < CORE_COLS) {
      if (src)
        simd_copy(to, src, n);
      else
        simd_zero(to, n);
    } else {
      // Whole panels, most of the work.
      for (n = 0; n + CORE_COLS <= count; n += CORE_COLS, to += CORE_COLS * dst_k)
        SIMD_UNROLL
        for (int v = 0; v < SIMD_TILE_VECTORS; ++v)
          simd_store(to + v * SIMD_LANES, src ? simd_load(src + n + v * SIMD_LANES) : (Vec){0});
    }
    src = src ? src + n : NULL;
    col += n;
    count -= n;
  }
}

// The same for floats [from, to) of a window row that begins at pixel ix of an image row; outside
// the image there are zeros.
static inline void put_window_row(const FilterGrad *p, float *dst, int64_t dst_k, int64_t k,
                                  int64_t col, const float *row, int64_t ix, int64_t from,
                                  int64_t to)
{
  const int64_t c = p->s->ic;
  int64_t lo = core_min(ix < 0 ? -ix * c : 0, to), hi = core_min((p->s->iw - ix) * c, to);
  lo = lo < from ? from : lo;
  hi = hi < lo ? lo : hi;
  put_row(dst, dst_k, k, col, NULL, lo - from);
  put_row(dst, dst_k, k, col + lo - from, row + ix * c + lo, hi - lo);
  put_row(dst, dst_k, k, col + hi - from, NULL, to - hi);
}

// Columns j0 .. j0+n-1 of the windows of count pixels from p0 on, as panels.
static void pack_windows(const FilterGrad *p, int64_t group, int64_t p0, int64_t count, int64_t j0,
                         int64_t n, float *dst)
{
  const ConvShape *s = p->s;
  const int64_t cg = s->ic / s->groups, run = s->kw * cg;
  // Taps side by side are one piece of a window row.
  const bool is_joined = s->groups == 1 && s->dw == 1;
  const int64_t piece = is_joined ? run : cg, end = j0 + n;
  const int64_t padding = core_ceil(n, CORE_COLS) * CORE_COLS - n;
  if (count == 0)
    return;
  int64_t sample = p0 / ((int64_t)s->oh * s->ow), oy = p0 / s->ow % s->oh, ox = p0 % s->ow;
  for (int64_t k = 0; k < count; ++k) {
    for (int64_t at = j0; at < end;) {
      const int64_t ky = at / run, in_run = at % run, kx = is_joined ? 0 : in_run / cg;
      const int64_t from = is_joined ? in_run : in_run % cg, to = core_min(piece, from + end - at);
      const int64_t iy = oy * s->sh + ky * s->dh - s->pt;
      const int64_t ix = ox * s->sw + kx * s->dw - s->pl;
      const float *row = p->x + (sample * s->ih + iy) * s->iw * s->ic + group * cg;
      if (iy < 0 || iy >= s->ih || (!is_joined && (ix < 0 || ix >= s->iw)))
        put_row(dst, count, k, at - j0, NULL, to - from);
      else if (is_joined)
        put_window_row(p, dst, count, k, at - j0, row, ix, from, to);
      else
        put_row(dst, count, k, at - j0, row + ix * s->ic + from, to - from);
      at += to - from;
    }
    put_row(dst, count, k, n, NULL, padding);
    if (++ox == s->ow) {
      ox = 0;
      if (++oy == s->oh) {
        oy = 0;
        ++sample;
      }
    }
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
  const int64_t m = core_min(p->task_rows, p->m - i0), n = core_min(p->task_cols, p->n - j0);
  const int64_t height = core_strip_rows(m), first = chunk * p->per_chunk;
  const int64_t end = core_min(p->pixels, first + p->per_chunk);
  size_t unused;
  FilterWork w = lay_out_work(p, p->workers + (size_t)worker * p->worker_bytes, &unused);
  float *to = p->has_partials ? p->partials + chunk * s->oc * p->n : p->dw;
  for (int64_t i = 0; i < m; ++i)
    w.c[i] = to + (group * p->m + i0 + i) * p->n + j0;
  CoreBlock q = {.m = m, .n = n, .rows = w.rows, .strip_step = CORE_ROWS, .n_seg = 1,
                 .a_step = p->pack_a ? height : s->oc, .b = w.b, .b_step = CORE_COLS, .c = w.c,
                 .act = KACT_NONE};
  int64_t at = first;
  do {
    const int64_t k = end > at ? core_min(p->block, end - at) : 0;
    q.seg_len = k;
    q.accumulate = at > first || (!p->has_partials && p->accumulate);
    const float *dy = p->dy + at * s->oc + group * p->m + i0;
    if (p->db && j0 == 0)
      chunks_add_rows(dy, s->oc, k, m, at == first,
               p->bias_partials + chunk * s->oc + group * p->m + i0);
    if (p->pack_a)
      core_pack(dy, s->oc, 1, k, m, height, k, w.a);
    for (int64_t i = 0; i < m; ++i)
      w.rows[i / height * CORE_ROWS + i % height] =
        p->pack_a ? w.a + i / height * height * k + i % height : dy + i;
    if (p->pack_b) {
      if (p->is_pointwise)
        core_pack(p->x + at * s->ic + group * p->n + j0, s->ic, 1, k, n, CORE_COLS, k, w.b);
      else
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
    // Blocks in place are read column by column, which the hardware does not see coming.
    if (!p->pack_b && at + p->block < end) {
      const int64_t next = core_min(p->block, end - at - p->block);
      simd_prefetch(p->dy + (at + p->block) * s->oc, next * s->oc);
      simd_prefetch(p->x + (at + p->block) * s->ic, next * s->ic);
    }
    core_block(&q);
    at += p->block;
  } while (at < end);
}

// Copies `count` rows of the padded image of a sample, from padded row `first` on.
static void pad_rows(const ConvShape *s, const float *image, int64_t first, int64_t count,
                     float *dst)
{
  const int64_t columns = padded_columns(s);
  const int64_t left = core_min(s->pl, columns), inside = core_min(s->iw, columns - left);
  for (int64_t i = 0; i < count; ++i, dst += columns * s->ic) {
    const int64_t iy = first + i - s->pt;
    if (iy < 0 || iy >= s->ih) {
      simd_zero(dst, columns * s->ic);
      continue;
    }
    simd_zero(dst, left * s->ic);
    simd_copy(dst + left * s->ic, image + iy * s->iw * s->ic, inside * s->ic);
    simd_zero(dst + (left + inside) * s->ic, (columns - left - inside) * s->ic);
  }
}

// One chunk where windows are few: partial [n, oc] += windows, transposed, times dy.
static void few_task(void *context, int task, int worker)
{
  const FilterGrad *p = context;
  const ConvShape *s = p->s;
  size_t unused;
  FilterWork w = lay_out_work(p, p->workers + (size_t)worker * p->worker_bytes, &unused);
  const int64_t height = core_strip_rows(p->n), columns = padded_columns(s);
  for (int64_t i = 0; i < p->n; ++i) {
    const int64_t ky = i / s->ic / s->kw, kx = i / s->ic % s->kw;
    const float *at = w.a + (ky * s->dh * columns + kx * s->dw) * s->ic + i % s->ic;
    const float **rows = w.rows + i / height * CORE_ROWS * p->block_rows + i % height;
    for (int64_t r = 0; r < p->block_rows; ++r)
      rows[r * CORE_ROWS] = at + r * s->sh * columns * s->ic;
    w.c[i] = p->partials + (task * p->n + i) * s->oc;
  }
  CoreBlock q = {.m = p->n, .n = s->oc, .rows = w.rows, .strip_step = CORE_ROWS * p->block_rows,
                 .seg_len = s->ow, .a_step = (int64_t)s->sw * s->ic, .b_panel = CORE_COLS,
                 .b_step = s->oc, .c = w.c, .act = KACT_NONE};
  const int64_t first = task * p->per_chunk / s->ow;
  const int64_t end = core_min((int64_t)s->n * s->oh, first + p->per_chunk / s->ow);
  for (int64_t at = first; at < end; at += q.n_seg) {
    const int64_t sample = at / s->oh, oy = at % s->oh, part = s->oc % CORE_COLS;
    q.n_seg = core_min(core_min(p->block_rows, end - at), s->oh - oy);
    q.accumulate = at > first;
    q.b = p->dy + at * s->ow * s->oc;
    if (p->db)
      chunks_add_rows(q.b, s->oc, q.n_seg * s->ow, s->oc, at == first, p->bias_partials + task * s->oc);
    pad_rows(s, p->x + sample * s->ih * s->iw * s->ic, oy * s->sh, padded_rows(s, q.n_seg), w.a);
    if (part % SIMD_LANES) {
      core_pack(q.b + s->oc - part, s->oc, 1, q.n_seg * s->ow, part, CORE_COLS, q.n_seg * s->ow,
                w.b);
      q.b_last = w.b;
    }
    core_block(&q);
  }
}

// Transforms the tiles from `tile` on, so many of them, for filters i0 and channels j0 and up.
static void transform_tiles(const FilterGrad *p, const FilterWork *w, int64_t tile, int64_t count,
                            int64_t i0, int64_t m, int64_t j0, int64_t n)
{
  const ConvShape *s = p->s;
  const int64_t tiles_w = core_ceil(s->ow, 2), per_image = core_ceil(s->oh, 2) * tiles_w;
  for (int64_t t = 0; t < count; ++t, ++tile) {
    const int64_t sample = tile / per_image;
    const int64_t y = tile % per_image / tiles_w * 2, x = tile % tiles_w * 2;
    const WinoImage in = {p->x + sample * s->ih * s->iw * s->ic + j0, s->ih, s->iw, s->ic, w->zeros};
    const WinoImage out = {p->dy + sample * s->oh * s->ow * s->oc + i0, s->oh, s->ow, s->oc,
                           w->zeros};
    const float *pixels[WINO_POINTS];
    Vec d[WINO_POINTS], v[WINO_POINTS];
    wino_pixels(&in, y - s->pt, x - s->pl, 4, pixels);
    for (int64_t j = 0; j < n; j += SIMD_LANES) {
      SIMD_UNROLL
      for (int i = 0; i < WINO_POINTS; ++i)
        d[i] = simd_load(pixels[i] + j);
      wino_source(d, v);
      float *to = w->b + j / CORE_COLS * CORE_COLS * count + t * CORE_COLS + j % CORE_COLS;
      SIMD_UNROLL
      for (int i = 0; i < WINO_POINTS; ++i)
        simd_store(to + i * p->task_cols * count, v[i]);
    }
    wino_pixels(&out, y, x, 2, pixels);
    for (int64_t i = 0; i < m; i += SIMD_LANES) {
      SIMD_UNROLL
      for (int k = 0; k < 4; ++k)
        d[k] = simd_load(pixels[k] + i);
      wino_outgoing(d, v);
      SIMD_UNROLL
      for (int k = 0; k < WINO_POINTS; ++k)
        simd_store(w->a + (k * count + t) * p->task_rows + i, v[k]);
    }
  }
}

// dw of one chunk, filters and channels of a task, through Winograd's transforms.
static void winograd_task(void *context, int task, int worker)
{
  const FilterGrad *p = context;
  const ConvShape *s = p->s;
  const int64_t i0 = task % p->row_tasks * p->task_rows, m = core_min(p->task_rows, p->m - i0);
  const int64_t j0 = task / p->row_tasks % p->col_tasks * p->task_cols;
  const int64_t n = core_min(p->task_cols, s->ic - j0);
  const int64_t chunk = task / p->row_tasks / p->col_tasks, height = core_strip_rows(m);
  const int64_t tiles_h = core_ceil(s->oh, 2), tiles_w = core_ceil(s->ow, 2);
  const int64_t row = chunk * p->per_chunk;
  const int64_t row_end = core_min(s->n * tiles_h, row + p->per_chunk);
  size_t unused;
  FilterWork w = lay_out_work(p, p->workers + (size_t)worker * p->worker_bytes, &unused);
  simd_zero(w.zeros, m > n ? m : n);
  if (p->db && j0 == 0) {
    const int64_t y = row / tiles_h * s->oh + row % tiles_h * 2;
    const int64_t y_end = row_end / tiles_h * s->oh + row_end % tiles_h * 2;
    chunks_add_rows(p->dy + y * s->ow * s->oc + i0, s->oc, (y_end - y) * s->ow, m, true,
                    p->bias_partials + chunk * s->oc + i0);
  }
  for (int64_t i = 0; i < m; ++i)
    w.rows[i / height * CORE_ROWS + i % height] = w.a + i;
  for (int64_t tile = row * tiles_w; tile < row_end * tiles_w; tile += FILTER_WINO_TILES) {
    const int64_t count = core_min(FILTER_WINO_TILES, row_end * tiles_w - tile);
    transform_tiles(p, &w, tile, count, i0, m, j0, n);
    for (int x = 0; x < WINO_POINTS; ++x) {
      for (int64_t i = 0; i < m; ++i)
        w.c[i] = w.sums + (x * p->task_rows + i) * p->task_cols;
      CoreBlock q = {.m = m, .n = n, .rows = w.rows, .strip_step = CORE_ROWS, .n_seg = 1,
                     .seg_len = count, .a_offset = x * count * p->task_rows,
                     .a_step = p->task_rows, .b = w.b + x * p->task_cols * count,
                     .b_panel = CORE_COLS * count, .b_step = CORE_COLS, .c = w.c,
                     .accumulate = tile > row * tiles_w, .act = KACT_NONE};
      core_block(&q);
    }
  }
  const bool adds = !p->has_partials && p->accumulate;
  float *to = (p->has_partials ? p->partials + chunk * s->oc * p->n : p->dw) + i0 * p->n + j0;
  for (int64_t i = 0; i < m; ++i, to += p->n) {
    for (int64_t j = 0; j < n; j += SIMD_LANES) {
      Vec in[WINO_POINTS], out[9];
      SIMD_UNROLL
      for (int x = 0; x < WINO_POINTS; ++x)
        in[x] = simd_load(w.sums + (x * p->task_rows + i) * p->task_cols + j);
      wino_filter_grad(in, out);
      SIMD_UNROLL
      for (int t = 0; t < 9; ++t) {
        float *at = to + t * s->ic + j;
        simd_store(at, adds ? simd_load(at) + out[t] : out[t]);
      }
    }
  }
}

// Where element i of the partial sums stands in dw.
static inline int64_t filter_place(const FilterGrad *p, int64_t i)
{
  const int64_t oc = p->s->oc, ic = p->s->ic;
  const int64_t o = p->is_few ? i % oc : i / p->n, j = p->is_few ? i / oc : i % p->n;
  return p->s->is_swapped ? (j % ic * (p->n / ic) + j / ic) * oc + o : o * p->n + j;
}

static void reduce_task(void *context, int task, int worker)
{
  const FilterGrad *p = context;
  (void)worker;
  const int64_t size = p->s->oc * p->n, from = (int64_t)task * FILTER_REDUCE;
  const int64_t n = core_min(FILTER_REDUCE, size - from);
  if (!p->is_few && !p->s->is_swapped) {
    chunks_reduce(p->partials + from, size, p->chunks, n, p->accumulate, p->dw + from);
    return;
  }
  chunks_add(p->partials + from, size, p->chunks, n);
  for (int64_t i = from; i < from + n; ++i) {
    float *dw = p->dw + filter_place(p, i);
    *dw = p->partials[i] + (p->accumulate ? *dw : 0);
  }
}

static size_t filter_grad_scratch(const ConvShape *s, int threads)
{
  if ((int64_t)s->oc * s->kh * s->kw * (s->ic / s->groups) <= 0)
    return 0;
  FilterGrad p = plan_filter_grad(s);
  return lay_out_filter_grad(&p, NULL, threads);
}

static void filter_grad(const ConvShape *s, const float *x, const float *dy, float *dw, float *db,
                        bool accumulate, void *scratch, Pool *pool)
{
  if ((int64_t)s->oc * s->kh * s->kw * (s->ic / s->groups) <= 0)
    return;
  FilterGrad p = plan_filter_grad(s);
  p.x = x;
  p.dy = dy;
  p.dw = dw;
  p.db = db;
  p.accumulate = accumulate;
  lay_out_filter_grad(&p, scratch, pool_threads(pool));
  if (2 * p.pixels * s->oc * p.n < CORE_SERIAL_FLOPS)
    pool = NULL;
  pool_run(pool, (int)(p.chunks * s->groups * p.col_tasks * p.row_tasks),
           p.is_winograd ? winograd_task : p.is_few ? few_task : filter_task, &p);
  if (p.has_partials)
    pool_run(pool, (int)core_ceil(s->oc * p.n, FILTER_REDUCE), reduce_task, &p);
  if (db)
    chunks_reduce(p.bias_partials, s->oc, p.chunks, s->oc, accumulate, db);
}

#endif
