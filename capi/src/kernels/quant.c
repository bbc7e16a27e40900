// SPDX-License-Identifier: Apache-2.0
// Loops over runs of one scale, which compilers turn into vectors.
#include "kernels/quant.h"

#include "kernels/span.h"

#include <math.h>

enum { CONVERSION_COST = 2 };

typedef struct {
  KernelType type;
  const QuantScale *s;
  const void *x;
  void *y;
} Conversion;

bool quant_is_read(KernelType type)
{
  return type == KT_I32 || type == KT_I64 || quant_is_made(type, &(int32_t){0}, &(int32_t){0});
}

bool quant_is_made(KernelType type, int32_t *low, int32_t *high)
{
  switch (type) {
  case KT_I8: *low = INT8_MIN, *high = INT8_MAX; return true;
  case KT_U8: *low = 0, *high = UINT8_MAX; return true;
  case KT_I16: *low = INT16_MIN, *high = INT16_MAX; return true;
  default: return false;
  }
}

// Elements first .. first + n - 1 of one run.
typedef void (*RunFn)(const Conversion *c, float scale, int64_t zero, int64_t first, int64_t n);

static void each_run(const Conversion *c, int64_t first, int64_t n, RunFn fn)
{
  const QuantScale *s = c->s;
  while (n > 0) {
    const int64_t run = first / s->run, left = (run + 1) * s->run - first;
    const int64_t count = left < n ? left : n, channel = run % s->channels;
    fn(c, s->scale[channel], s->zero[channel], first, count);
    first += count;
    n -= count;
  }
}

// Differences are exact, but those of int64 are of floats.
#define READ(TYPE, WIDE)                                                                           \
  {                                                                                                \
    const TYPE *x = (const TYPE *)c->x + first;                                                    \
    for (int64_t i = 0; i < n; ++i)                                                                \
      y[i] = scale * (float)((WIDE)x[i] - (WIDE)zero);                                             \
    break;                                                                                         \
  }

static void read_run(const Conversion *c, float scale, int64_t zero, int64_t first, int64_t n)
{
  float *y = (float *)c->y + first;
  switch (c->type) {
  case KT_I8: READ(int8_t, int32_t)
  case KT_U8: READ(uint8_t, int32_t)
  case KT_I16: READ(int16_t, int32_t)
  case KT_I32: READ(int32_t, int64_t)
  default: READ(int64_t, double)
  }
}

// The integer nearest to x / scale, in the range. Clamped before it is rounded: it then fits.
static inline int32_t nearest(float x, float scale, float low, float high)
{
  float q = x / scale;
  q = q > low ? q : low; // NaN, too
  q = q < high ? q : high;
  // The float below 0.5: 0.5 itself would lift its own predecessor to 1.
  return (int32_t)(q + copysignf(0.49999997f, q));
}

#define MAKE(TYPE)                                                                                 \
  {                                                                                                \
    TYPE *y = (TYPE *)c->y + first;                                                                \
    for (int64_t i = 0; i < n; ++i)                                                                \
      y[i] = (TYPE)(nearest(x[i], scale, least, most) + at);                                       \
    break;                                                                                         \
  }

static void make_run(const Conversion *c, float scale, int64_t zero, int64_t first, int64_t n)
{
  int32_t low = 0, high = 0;
  if (!quant_is_made(c->type, &low, &high))
    return;
  const int32_t at = (int32_t)zero;
  const float least = (float)(low - at), most = (float)(high - at), *x = (const float *)c->x + first;
  switch (c->type) {
  case KT_I8: MAKE(int8_t)
  case KT_U8: MAKE(uint8_t)
  default: MAKE(int16_t)
  }
}

static void read_body(void *context, int64_t first, int64_t n)
{
  each_run(context, first, n, read_run);
}

static void make_body(void *context, int64_t first, int64_t n)
{
  each_run(context, first, n, make_run);
}

void quant_to_real(KernelType from, const QuantScale *s, const void *x, float *y, int64_t n,
                   Pool *pool)
{
  Conversion c = {from, s, x, y};
  span_run(pool, n, CONVERSION_COST, read_body, &c);
}

void quant_from_real(KernelType to, const QuantScale *s, const float *x, void *y, int64_t n,
                     Pool *pool)
{
  Conversion c = {to, s, x, y};
  span_run(pool, n, CONVERSION_COST, make_body, &c);
}
