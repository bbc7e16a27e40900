// SPDX-License-Identifier: Apache-2.0
// Where the elements of a resized axis come from, the nearest ones, and the choice of kernels.
#include "kernels/resample.h"

#include "kernels/dispatch.h"
#include "kernels/span.h"

#include <math.h>
#include <string.h>

KERNEL_DISPATCH(resample, ResampleKernels)

static int32_t inside(float at, int64_t n)
{
  return at < 0 ? 0 : at >= (float)n ? (int32_t)(n - 1) : (int32_t)at;
}

// In float32, as TFLite computes it: what falls next to an edge depends on the rounding.
void resample_axis(ResampleAxis *a, ResampleMode mode)
{
  const bool corners = mode.align_corners && a->to > 1;
  const float scale = corners ? (float)(a->from - 1) / (float)(a->to - 1)
                              : (float)a->from / (float)a->to;
  for (int64_t i = 0; i < a->from; ++i)
    a->first[i] = a->last[i] = 0;
  for (int64_t o = 0; o < a->to; ++o) {
    float at = (float)o * scale;
    if (mode.half_pixel)
      at = mode.nearest ? ((float)o + 0.5f) * scale : ((float)o + 0.5f) * scale - 0.5f;
    if (mode.nearest && mode.align_corners)
      at += 0.5f;
    const float below = floorf(at);
    const int32_t lo = inside(below, a->from), next = inside(below + 1, a->from);
    const float weight = mode.nearest || next == lo ? 0 : at - below;
    const int32_t hi = weight == 0 ? lo : next;
    a->lo[o] = lo;
    a->hi[o] = hi;
    a->weight[o] = weight;
    for (int32_t i = lo; i <= hi; ++i) {
      if (a->last[i] == 0)
        a->first[i] = (int32_t)o;
      a->last[i] = (int32_t)o + 1;
    }
  }
}

typedef struct {
  const ResampleShape *s;
  const char *x;
  char *y;
  int64_t pixel; // bytes
} Nearest;

// Unit: a row of y.
static void nearest_body(void *context, int64_t first, int64_t n)
{
  const Nearest *r = context;
  const ResampleAxis *h = &r->s->height, *w = &r->s->width;
  for (int64_t unit = first; unit < first + n; ++unit) {
    const int64_t image = unit / h->to, o = unit % h->to;
    const char *x = r->x + (image * h->from + h->lo[o]) * w->from * r->pixel;
    char *y = r->y + unit * w->to * r->pixel;
    // Rows that come from one place are copies of the first of them.
    if (unit > first && o > 0 && h->lo[o] == h->lo[o - 1]) {
      memcpy(y, y - w->to * r->pixel, (size_t)(w->to * r->pixel));
      continue;
    }
    for (int64_t q = 0; q < w->to; ++q)
      memcpy(y + q * r->pixel, x + w->lo[q] * r->pixel, (size_t)r->pixel);
  }
}

void resample_nearest(const ResampleShape *s, const void *x, void *y, int32_t element_bytes,
                      Pool *pool)
{
  Nearest r = {s, x, y, s->channels * element_bytes};
  if (r.pixel > 0)
    span_run(pool, s->images * s->height.to, s->width.to * (s->channels + 4), nearest_body, &r);
}
