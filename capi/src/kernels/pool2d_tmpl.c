// SPDX-License-Identifier: Apache-2.0
// Max and average pooling, NHWC, compiled once per instruction set; vectors run over channels.
//
// Forward work is cut into output rows. Gradients recompute what they need from x and add window by
// window in row-major order: by output row where windows do not share input rows, else by sample
// and block of channels, so that no two tasks touch one element and the order is always the same.
#include "kernels/pool2d.h"

#include "kernels/span.h"
#include "kernels/vmath.h"

#include <string.h>

enum {
  CHANNELS = 64,     // of one block
  SMALL_WINDOW = 64, // cells that may be summed one by one
};

typedef struct {
  const Pool2dShape *s;
  const float *x, *dy;
  float *dst; // y or dx
  bool accumulate, average, by_row;
  int32_t blocks; // of channels
} Pooling;

// Cells of a window that are inside the input: rows y0 .. y1-1, columns x0 .. x1-1.
typedef struct {
  int32_t y0, y1, x0, x1;
} Window;

static inline int32_t clamp_index(int64_t v, int32_t hi)
{
  return v < 0 ? 0 : v > hi ? hi : (int32_t)v;
}

static inline Window window_at(const Pool2dShape *s, int32_t oy, int32_t ox)
{
  int64_t y = (int64_t)oy * s->sh - s->pt, x = (int64_t)ox * s->sw - s->pl;
  return (Window){clamp_index(y, s->ih), clamp_index(y + s->kh, s->ih), clamp_index(x, s->iw),
                  clamp_index(x + s->kw, s->iw)};
}

static inline bool is_empty(Window w)
{
  return w.y0 >= w.y1 || w.x0 >= w.x1;
}

// Whether v takes the place of the maximum m so far: ties stay with the first, as does the first
// NaN.
static inline int32_t beats(float v, float m)
{
  return ((v > m) | (v != v)) & (m == m);
}

static inline float larger(float m, float v)
{
  return vm_select(beats(v, m), v, m);
}

static inline bool is_halving(const Pool2dShape *s)
{
  return s->kh == 2 && s->kw == 2 && s->sh == 2 && s->sw == 2;
}

static inline bool is_whole_2x2(Window w)
{
  return w.y1 - w.y0 == 2 && w.x1 - w.x0 == 2;
}

// x: first cell of the window [2,2,c] in an image with `row` elements per row.
static void max_2x2(const float *x, int64_t row, int32_t c, float *restrict y)
{
  const float *a = x, *b = x + c, *d = x + row, *e = x + row + c;
  VM_INDEPENDENT
  for (int32_t i = 0; i < c; ++i)
    y[i] = larger(larger(larger(a[i], b[i]), d[i]), e[i]);
}

static void max_window(const Pool2dShape *s, Window w, const float *image, float *restrict y)
{
  const int32_t c = s->c;
  memcpy(y, image + ((int64_t)w.y0 * s->iw + w.x0) * c, (size_t)c * sizeof *y);
  for (int32_t iy = w.y0; iy < w.y1; ++iy) {
    for (int32_t ix = w.x0; ix < w.x1; ++ix) {
      const float *x = image + ((int64_t)iy * s->iw + ix) * c;
      VM_INDEPENDENT
      for (int32_t i = 0; i < c; ++i)
        y[i] = larger(y[i], x[i]);
    }
  }
}

// sum[n] += the first n channels of the window's rows y0 .. y1-1
static void add_cells(const Pool2dShape *s, Window w, const float *image, int32_t n,
                      float *restrict sum)
{
  for (int32_t iy = w.y0; iy < w.y1; ++iy) {
    for (int32_t ix = w.x0; ix < w.x1; ++ix) {
      const float *x = image + ((int64_t)iy * s->iw + ix) * s->c;
      VM_INDEPENDENT
      for (int32_t i = 0; i < n; ++i)
        sum[i] += x[i];
    }
  }
}

// Large windows row by row, so that their sums stay accurate.
static void average_window(const Pool2dShape *s, Window w, const float *image, float *restrict y)
{
  const int64_t cells = (int64_t)(w.y1 - w.y0) * (w.x1 - w.x0);
  memset(y, 0, (size_t)s->c * sizeof *y);
  if (cells <= SMALL_WINDOW) {
    add_cells(s, w, image, s->c, y);
  } else {
    for (int32_t first = 0; first < s->c; first += CHANNELS) {
      const int32_t n = s->c - first < CHANNELS ? s->c - first : CHANNELS;
      for (Window row = w; row.y0 < w.y1; ++row.y0) {
        float sum[CHANNELS] = {0};
        row.y1 = row.y0 + 1;
        add_cells(s, row, image + first, n, sum);
        for (int32_t i = 0; i < n; ++i)
          y[first + i] += sum[i];
      }
    }
  }
  const float count = (float)cells;
  VM_INDEPENDENT
  for (int32_t i = 0; i < s->c; ++i)
    y[i] /= count;
}

// Unit: output row (n, oy).
static void forward_body(void *context, int64_t first, int64_t n)
{
  const Pooling *p = context;
  const Pool2dShape *s = p->s;
  const int64_t image_elements = (int64_t)s->ih * s->iw * s->c, row = (int64_t)s->iw * s->c;
  const bool halving = is_halving(s);
  for (int64_t unit = first; unit < first + n; ++unit) {
    const float *image = p->x + unit / s->oh * image_elements;
    float *y_row = p->dst + unit * s->ow * s->c, *y = y_row;
    for (int32_t ox = 0; ox < s->ow; ++ox, y += s->c) {
      Window w = window_at(s, (int32_t)(unit % s->oh), ox);
      if (is_empty(w))
        memset(y, 0, (size_t)s->c * sizeof *y);
      else if (p->average)
        average_window(s, w, image, y);
      else if (halving && is_whole_2x2(w))
        max_2x2(image + w.y0 * row + (int64_t)w.x0 * s->c, row, s->c, y);
      else
        max_window(s, w, image, y);
    }
    vm_activate(s->act, y_row, (int64_t)s->ow * s->c);
  }
}

static void forward(const Pool2dShape *s, const float *x, float *y, bool average, Pool *pool)
{
  Pooling p = {.s = s, .x = x, .dst = y, .average = average};
  int64_t cells = (int64_t)s->kh * s->kw;
  span_run(pool, (int64_t)s->n * s->oh, (int64_t)s->ow * s->c * cells, forward_body, &p);
}

static void max(const Pool2dShape *s, const float *x, float *y, Pool *pool)
{
  forward(s, x, y, false, pool);
}

static void average(const Pool2dShape *s, const float *x, float *y, Pool *pool)
{
  forward(s, x, y, true, pool);
}

// n <= CHANNELS channels of one window; x, dx: their first one in the image.
static void max_grad_window(const Pool2dShape *s, Window w, const float *x, const float *dy,
                            float *dx, int32_t n)
{
  float best[CHANNELS];
  int32_t at[CHANNELS];
  int32_t cell = 0;
  memcpy(best, x + ((int64_t)w.y0 * s->iw + w.x0) * s->c, (size_t)n * sizeof *best);
  memset(at, 0, sizeof at);
  for (int32_t iy = w.y0; iy < w.y1; ++iy) {
    for (int32_t ix = w.x0; ix < w.x1; ++ix, ++cell) {
      const float *v = x + ((int64_t)iy * s->iw + ix) * s->c;
      for (int32_t i = 0; i < n; ++i) {
        int32_t wins = beats(v[i], best[i]);
        best[i] = vm_select(wins, v[i], best[i]);
        at[i] = wins ? cell : at[i];
      }
    }
  }
  cell = 0;
  for (int32_t iy = w.y0; iy < w.y1; ++iy) {
    for (int32_t ix = w.x0; ix < w.x1; ++ix, ++cell) {
      float *d = dx + ((int64_t)iy * s->iw + ix) * s->c;
      VM_INDEPENDENT
      for (int32_t i = 0; i < n; ++i)
        d[i] += vm_select(at[i] == cell, dy[i], 0);
    }
  }
}

// Whole 2 x 2 windows that share no cell; c: channels, row: elements per image row.
static inline void max_grad_2x2(const float *x, const float *dy, int64_t row, int32_t c,
                                float *restrict dx, bool accumulate)
{
  const float *x0 = x, *x1 = x + c, *x2 = x + row, *x3 = x + row + c;
  float *d0 = dx, *d1 = dx + c, *d2 = dx + row, *d3 = dx + row + c;
  VM_INDEPENDENT
  for (int32_t i = 0; i < c; ++i) {
    const float g = dy[i];
    float m = x0[i];
    const int32_t b1 = beats(x1[i], m);
    m = vm_select(b1, x1[i], m);
    const int32_t b2 = beats(x2[i], m);
    m = vm_select(b2, x2[i], m);
    const int32_t b3 = beats(x3[i], m);
    const float g0 = vm_select(b1 | b2 | b3, 0, g), g1 = vm_select(b2 | b3, 0, vm_select(b1, g, 0));
    const float g2 = vm_select(b3, 0, vm_select(b2, g, 0)), g3 = vm_select(b3, g, 0);
    d0[i] = accumulate ? d0[i] + g0 : g0;
    d1[i] = accumulate ? d1[i] + g1 : g1;
    d2[i] = accumulate ? d2[i] + g2 : g2;
    d3[i] = accumulate ? d3[i] + g3 : g3;
  }
}

static void average_grad_window(const Pool2dShape *s, Window w, const float *dy, float *dx,
                                int32_t n)
{
  const float count = (float)((int64_t)(w.y1 - w.y0) * (w.x1 - w.x0));
  float share[CHANNELS];
  for (int32_t i = 0; i < n; ++i)
    share[i] = dy[i] / count;
  for (int32_t iy = w.y0; iy < w.y1; ++iy) {
    for (int32_t ix = w.x0; ix < w.x1; ++ix) {
      float *d = dx + ((int64_t)iy * s->iw + ix) * s->c;
      VM_INDEPENDENT
      for (int32_t i = 0; i < n; ++i)
        d[i] += share[i];
    }
  }
}

// Channels first .. first + n - 1 of all windows of one output row.
static void grad_row(const Pooling *p, int64_t sample, int32_t oy, int32_t first, int32_t n)
{
  const Pool2dShape *s = p->s;
  const int64_t image = sample * s->ih * s->iw * s->c + first;
  const float *x = p->x ? p->x + image : NULL;
  const float *dy = p->dy + ((sample * s->oh + oy) * s->ow) * s->c + first;
  float *dx = p->dst + image;
  for (int32_t ox = 0; ox < s->ow; ++ox, dy += s->c) {
    Window w = window_at(s, oy, ox);
    if (is_empty(w))
      continue;
    if (p->average)
      average_grad_window(s, w, dy, dx, n);
    else
      max_grad_window(s, w, x, dy, dx, n);
  }
}

// The same for the non-overlapping 2 x 2 windows, all channels; sets whole windows, and needs dx
// zeroed or accumulated only under the others.
static void grad_row_2x2(const Pooling *p, int64_t sample, int32_t oy)
{
  const Pool2dShape *s = p->s;
  const int64_t row = (int64_t)s->iw * s->c, image = sample * s->ih * row;
  const float *dy = p->dy + ((sample * s->oh + oy) * s->ow) * s->c;
  for (int32_t ox = 0; ox < s->ow; ++ox, dy += s->c) {
    Window w = window_at(s, oy, ox);
    const int64_t at = image + w.y0 * row + (int64_t)w.x0 * s->c;
    if (is_empty(w))
      continue;
    if (!is_whole_2x2(w)) {
      for (int32_t c = 0; c < s->c; c += CHANNELS)
        max_grad_window(s, w, p->x + image + c, dy + c, p->dst + image + c,
                        s->c - c < CHANNELS ? s->c - c : CHANNELS);
    } else if (p->accumulate) {
      max_grad_2x2(p->x + at, dy, row, s->c, p->dst + at, true);
    } else {
      max_grad_2x2(p->x + at, dy, row, s->c, p->dst + at, false);
    }
  }
}

// Input rows that output row oy alone is to clear: from its window's first row (the first output
// row: from 0) to where the next one starts (the last: to the end).
static void clear_rows(const Pooling *p, int64_t sample, int32_t oy)
{
  const Pool2dShape *s = p->s;
  const int64_t row = (int64_t)s->iw * s->c;
  int32_t begin = oy == 0 ? 0 : window_at(s, oy, 0).y0;
  int32_t end = oy == s->oh - 1 ? s->ih : clamp_index((int64_t)(oy + 1) * s->sh - s->pt, s->ih);
  if (end > begin)
    memset(p->dst + (sample * s->ih + begin) * row, 0, (size_t)((end - begin) * row) * 4);
}

// Whether whole 2 x 2 windows cover every element that clear_rows() would clear.
static bool covers_all(const Pool2dShape *s)
{
  return is_halving(s) && s->pt == 0 && s->pl == 0 && s->ih == 2 * s->oh && s->iw == 2 * s->ow;
}

// Unit: output row (n, oy).
static void grad_rows_body(void *context, int64_t first, int64_t n)
{
  const Pooling *p = context;
  const Pool2dShape *s = p->s;
  const bool clear = !p->accumulate && (p->average || !covers_all(s));
  for (int64_t unit = first; unit < first + n; ++unit) {
    const int64_t sample = unit / s->oh;
    const int32_t oy = (int32_t)(unit % s->oh);
    if (clear)
      clear_rows(p, sample, oy);
    if (!p->average && is_halving(s)) {
      grad_row_2x2(p, sample, oy);
      continue;
    }
    for (int32_t c = 0; c < s->c; c += CHANNELS)
      grad_row(p, sample, oy, c, s->c - c < CHANNELS ? s->c - c : CHANNELS);
  }
}

// Unit: (n, block of channels), all windows.
static void grad_blocks_body(void *context, int64_t first, int64_t n)
{
  const Pooling *p = context;
  const Pool2dShape *s = p->s;
  const int64_t positions = (int64_t)s->ih * s->iw;
  for (int64_t unit = first; unit < first + n; ++unit) {
    const int64_t sample = unit / p->blocks;
    const int32_t c = (int32_t)(unit % p->blocks) * CHANNELS;
    const int32_t width = s->c - c < CHANNELS ? s->c - c : CHANNELS;
    if (!p->accumulate) {
      float *dx = p->dst + sample * positions * s->c + c;
      for (int64_t i = 0; i < positions; ++i)
        memset(dx + i * s->c, 0, (size_t)width * sizeof *dx);
    }
    for (int32_t oy = 0; oy < s->oh; ++oy)
      grad_row(p, sample, oy, c, width);
  }
}

static void grad(Pooling *p, Pool *pool)
{
  const Pool2dShape *s = p->s;
  if (s->c == 0)
    return;
  p->blocks = (s->c + CHANNELS - 1) / CHANNELS;
  const int64_t cells = (int64_t)s->kh * s->kw, outputs = (int64_t)s->oh * s->ow;
  if (s->kh <= s->sh && s->oh > 1)
    span_run(pool, (int64_t)s->n * s->oh, s->ow * s->c * cells, grad_rows_body, p);
  else
    span_run(pool, (int64_t)s->n * p->blocks,
             (outputs * cells + (int64_t)s->ih * s->iw) * (s->c < CHANNELS ? s->c : CHANNELS),
             grad_blocks_body, p);
}

static void max_grad(const Pool2dShape *s, const float *x, const float *dy, float *dx,
                     bool accumulate, Pool *pool)
{
  Pooling p = {.s = s, .x = x, .dy = dy, .dst = dx, .accumulate = accumulate};
  grad(&p, pool);
}

static void average_grad(const Pool2dShape *s, const float *dy, float *dx, bool accumulate,
                         Pool *pool)
{
  Pooling p = {.s = s, .dy = dy, .dst = dx, .accumulate = accumulate, .average = true};
  grad(&p, pool);
}

const Pool2dKernels KERNEL_TABLE(pool2d) = {
  .max = max,
  .max_grad = max_grad,
  .average = average,
  .average_grad = average_grad,
};
