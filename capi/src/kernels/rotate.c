// SPDX-License-Identifier: Apache-2.0
#include "kernels/rotate.h"

#include "kernels/span.h"

typedef struct {
  const RotateShape *s;
  Walk walk; // of sines and cosines
  const float *x, *sin, *cos;
  float *y;
  bool accumulate;
} Rotation;

// The loops over one row. FIRST and SECOND are the elements of pair i.
#define PAIRS(FIRST, SECOND, BODY)                                                                 \
  for (int64_t i = 0; i < half; ++i) {                                                             \
    const int64_t p = (FIRST), q = (SECOND);                                                       \
    BODY                                                                                           \
  }
#define ROW(BODY)                                                                                  \
  if (r->s->is_interleaved)                                                                        \
    PAIRS(2 * i, 2 * i + 1, BODY)                                                                  \
  else                                                                                             \
    PAIRS(i, i + half, BODY)

// restrict: a row of y is no part of the others.
static void forward_row(const Rotation *r, const float *restrict x, const float *restrict sin,
                        const float *restrict cos, float *restrict y)
{
  const int64_t half = r->s->width / 2;
  ROW({
    y[p] = x[p] * cos[p] - x[q] * sin[p];
    y[q] = x[q] * cos[q] + x[p] * sin[q];
  })
}

static void backward_row(const Rotation *r, const float *restrict x, const float *restrict sin,
                         const float *restrict cos, float *restrict y)
{
  const int64_t half = r->s->width / 2;
  if (r->accumulate)
    ROW({
      y[p] += x[p] * cos[p] + x[q] * sin[q];
      y[q] += x[q] * cos[q] - x[p] * sin[p];
    })
  else
    ROW({
      y[p] = x[p] * cos[p] + x[q] * sin[q];
      y[q] = x[q] * cos[q] - x[p] * sin[p];
    })
}

static void right_angle_row(const Rotation *r, const float *restrict x, float *restrict y)
{
  const int64_t half = r->s->width / 2;
  ROW({
    y[p] = -x[q];
    y[q] = x[p];
  })
}

#define BODY_OVER_ROWS(NAME, CALL)                                                                 \
  static void NAME(void *context, int64_t first, int64_t n)                                        \
  {                                                                                                \
    const Rotation *r = context;                                                                   \
    const int64_t width = r->s->width;                                                             \
    WalkAt at = walk_start(&r->walk, r->walk.rank, first);                                         \
    for (int64_t row = first; row < first + n; ++row, walk_next(&r->walk, &at))                    \
      CALL;                                                                                        \
  }
BODY_OVER_ROWS(forward_body, forward_row(r, r->x + row * width, r->sin + at.offset[0],
                                         r->cos + at.offset[1], r->y + row * width))
BODY_OVER_ROWS(backward_body, backward_row(r, r->x + row * width, r->sin + at.offset[0],
                                           r->cos + at.offset[1], r->y + row * width))
BODY_OVER_ROWS(right_angle_body, right_angle_row(r, r->x + row * width, r->y + row * width))

static void run(Rotation *r, SpanBody body, Pool *pool)
{
  const RotateShape *s = r->s;
  r->walk.rank = s->rank;
  for (int32_t i = 0; i < s->rank; ++i) {
    r->walk.dim[i] = s->dim[i];
    r->walk.stride[0][i] = s->sin_stride[i];
    r->walk.stride[1][i] = s->cos_stride[i];
  }
  const int64_t rows = walk_count(&r->walk, r->walk.rank);
  if (s->width > 0)
    span_run(pool, rows, 2 * s->width, body, r);
}

void rotate(const RotateShape *s, const float *x, const float *sin, const float *cos, float *y,
            Pool *pool)
{
  run(&(Rotation){.s = s, .x = x, .sin = sin, .cos = cos, .y = y}, forward_body, pool);
}

void rotate_grad(const RotateShape *s, const float *dy, const float *sin, const float *cos,
                 float *dx, bool accumulate, Pool *pool)
{
  run(&(Rotation){.s = s, .x = dy, .sin = sin, .cos = cos, .y = dx, .accumulate = accumulate},
      backward_body, pool);
}

void rotate_right_angle(const RotateShape *s, const float *x, float *y, Pool *pool)
{
  run(&(Rotation){.s = s, .x = x, .y = y}, right_angle_body, pool);
}
