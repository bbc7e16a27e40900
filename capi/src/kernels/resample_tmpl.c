// SPDX-License-Identifier: Apache-2.0
// Bilinear resizing and its gradient, compiled once per instruction set. The gradient goes by rows
// of dx: a row collects from the rows of dy that have read it, top to bottom.
#include "kernels/resample.h"

#include "kernels/span.h"
#include "kernels/vmath.h"

#include <string.h>

typedef struct {
  const ResampleShape *s;
  const float *x;
  float *y;
  bool accumulate;
} Resample;

static void mix(const float *a, const float *b, const float *c, const float *d, float down,
                float right, float *y, int64_t n)
{
  const float up = 1 - down, left = 1 - right;
  const float wa = up * left, wb = up * right, wc = down * left, wd = down * right;
  VM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i)
    y[i] = wa * a[i] + wb * b[i] + wc * c[i] + wd * d[i];
}

// With weights of 0 left out: infinity times 0 is none of the result.
static void mix_two(const float *a, const float *b, float weight, float *y, int64_t n)
{
  const float rest = 1 - weight;
  if (weight == 0) {
    memcpy(y, a, (size_t)n * sizeof *y);
    return;
  }
  VM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i)
    y[i] = rest * a[i] + weight * b[i];
}

// Unit: a row of y.
static void bilinear_body(void *context, int64_t first, int64_t n)
{
  const Resample *r = context;
  const ResampleAxis *h = &r->s->height, *w = &r->s->width;
  const int64_t channels = r->s->channels, row = w->from * channels;
  for (int64_t unit = first; unit < first + n; ++unit) {
    const int64_t image = unit / h->to, o = unit % h->to;
    const float *top = r->x + (image * h->from + h->lo[o]) * row;
    const float *bottom = r->x + (image * h->from + h->hi[o]) * row;
    const float down = h->weight[o];
    float *y = r->y + unit * w->to * channels;
    for (int64_t q = 0; q < w->to; ++q, y += channels) {
      const int64_t lo = w->lo[q] * channels, hi = w->hi[q] * channels;
      const float right = w->weight[q];
      if (down == 0)
        mix_two(top + lo, top + hi, right, y, channels);
      else if (right == 0)
        mix_two(top + lo, bottom + lo, down, y, channels);
      else
        mix(top + lo, top + hi, bottom + lo, bottom + hi, down, right, y, channels);
    }
  }
}

static void bilinear(const ResampleShape *s, const float *x, float *y, Pool *pool)
{
  Resample r = {.s = s, .x = x, .y = y};
  span_run(pool, s->images * s->height.to, s->width.to * (4 * s->channels + 8), bilinear_body,
           &r);
}

static void add_scaled(float scale, const float *x, float *y, int64_t n)
{
  VM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i)
    y[i] += scale * x[i];
}

// What row o of dy gives to row i of dx: the share of i in it, to either neighbour of every pixel.
static void collect_row(const ResampleShape *s, float share, const float *dy, float *dx)
{
  const ResampleAxis *w = &s->width;
  for (int64_t q = 0; q < w->to; ++q, dy += s->channels) {
    const float right = w->weight[q];
    add_scaled(share * (1 - right), dy, dx + w->lo[q] * s->channels, s->channels);
    if (right != 0)
      add_scaled(share * right, dy, dx + w->hi[q] * s->channels, s->channels);
  }
}

// Unit: a row of dx.
static void gradient_body(void *context, int64_t first, int64_t n)
{
  const Resample *r = context;
  const ResampleShape *s = r->s;
  const ResampleAxis *h = &s->height;
  const int64_t to = s->width.to * s->channels, from = s->width.from * s->channels;
  for (int64_t unit = first; unit < first + n; ++unit) {
    const int64_t image = unit / h->from, i = unit % h->from;
    float *dx = r->y + unit * from;
    if (!r->accumulate)
      memset(dx, 0, (size_t)from * sizeof *dx);
    for (int64_t o = h->first[i]; o < h->last[i]; ++o) {
      if (h->lo[o] == i)
        collect_row(s, 1 - h->weight[o], r->x + (image * h->to + o) * to, dx);
      else if (h->hi[o] == i)
        collect_row(s, h->weight[o], r->x + (image * h->to + o) * to, dx);
    }
  }
}

static void gradient(const ResampleShape *s, const float *dy, float *dx, bool accumulate,
                     Pool *pool)
{
  Resample r = {.s = s, .x = dy, .y = dx, .accumulate = accumulate};
  const int64_t rows_read = 1 + s->height.to / (s->height.from > 0 ? s->height.from : 1);
  const int64_t cost = (rows_read * s->width.to + s->width.from) * (2 * s->channels + 4);
  span_run(pool, s->images * s->height.from, cost, gradient_body, &r);
}

const ResampleKernels KERNEL_TABLE(resample) = {.bilinear = bilinear, .gradient = gradient};
