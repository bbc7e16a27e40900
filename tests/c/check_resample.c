// SPDX-License-Identifier: Apache-2.0
// Checks of resized images and their gradient, in all modes, larger and smaller.
#include "checkkern.h"

#include "kernels/resample.h"

#include <math.h>
#include <string.h>

static ResampleAxis random_axis(Check *c, ResampleMode mode, int64_t most)
{
  ResampleAxis a = {.from = check_size(c, 1, most), .to = check_size(c, 1, most)};
  if (check_int(c, 0, 2) == 0)
    a.to = 2 * a.from;
  a.lo = check_output_bytes(c, a.to, 4, NULL);
  a.hi = check_output_bytes(c, a.to, 4, NULL);
  a.weight = check_output(c, a.to, NULL);
  a.first = check_output_bytes(c, a.from, 4, NULL);
  a.last = check_output_bytes(c, a.from, 4, NULL);
  resample_axis(&a, mode);
  return a;
}

// Place of element o in the input, in float32 as the kernels compute it.
static double place(const ResampleAxis *a, ResampleMode mode, int64_t o)
{
  float scale = mode.align_corners && a->to > 1 ? (float)(a->from - 1) / (float)(a->to - 1)
                                                : (float)a->from / (float)a->to;
  float half = mode.half_pixel ? 0.5f : 0;
  volatile float at = ((float)o + half) * scale;
  return (double)at - (mode.nearest ? 0 : (double)half);
}

static int64_t clip(double v, int64_t n)
{
  return v < 0 ? 0 : v > (double)(n - 1) ? n - 1 : (int64_t)v;
}

// Shares of the elements of one axis in element o: at[0] and at[1].
static void shares(const ResampleAxis *a, ResampleMode mode, int64_t o, int64_t *at, double *share)
{
  double p = place(a, mode, o), below = floor(p);
  if (mode.nearest) {
    at[0] = at[1] = clip(floor(mode.align_corners ? p + 0.5 : p), a->from);
    share[0] = 1;
    share[1] = 0;
    return;
  }
  at[0] = clip(below, a->from);
  at[1] = clip(below + 1, a->from);
  share[1] = p - below;
  share[0] = 1 - share[1];
}

static ResampleShape random_shape(Check *c, ResampleMode *mode, const char *what, int round)
{
  *mode = (ResampleMode){check_int(c, 0, 1), check_int(c, 0, 1), check_int(c, 0, 1)};
  if (what[0] == 'b')
    mode->nearest = false;
  if (!mode->nearest)
    mode->half_pixel = mode->half_pixel && !mode->align_corners;
  check_case(c, "%s", what);
  ResampleShape s = {.images = check_int(c, 1, 3), .channels = check_size(c, 1, 40)};
  s.height = random_axis(c, *mode, round % 10 == 0 ? 90 : 14);
  s.width = random_axis(c, *mode, 14);
  return s;
}

static int64_t size_of(const ResampleShape *s, bool result)
{
  return s->images * s->channels * (result ? s->height.to * s->width.to
                                           : s->height.from * s->width.from);
}

// Visits what every element of x has to do with every element of y.
typedef struct {
  const float *from;
  double *to, *magnitude;
  bool back;
} Sums;

static void walk(const ResampleShape *s, ResampleMode mode, const Sums *sums)
{
  for (int64_t i = 0; i < size_of(s, true); ++i) {
    int64_t c = i % s->channels, q = i / s->channels % s->width.to;
    int64_t o = i / s->channels / s->width.to % s->height.to;
    int64_t image = i / s->channels / s->width.to / s->height.to;
    int64_t y[2], x[2];
    double ys[2], xs[2];
    shares(&s->height, mode, o, y, ys);
    shares(&s->width, mode, q, x, xs);
    for (int k = 0; k < 4; ++k) {
      int64_t pixel = (image * s->height.from + y[k / 2]) * s->width.from + x[k % 2];
      int64_t at = pixel * s->channels + c;
      double share = ys[k / 2] * xs[k % 2];
      int64_t to = sums->back ? at : i, from = sums->back ? i : at;
      sums->to[to] += share * (double)sums->from[from];
      sums->magnitude[to] += fabs(share * (double)sums->from[from]);
    }
  }
}

static void check_bilinear(Check *c, const ResampleKernels *k, int round)
{
  ResampleMode mode;
  const ResampleShape s = random_shape(c, &mode, "bilinear", round);
  const int64_t n = size_of(&s, true);
  const float *x = check_input(c, size_of(&s, false), -1, 1);
  Sums sums = {x, check_doubles(c, n), check_doubles(c, n), false};
  walk(&s, mode, &sums);
  float *first = NULL;
  for (int p = 0; p < CHECK_POOLS; ++p) {
    float *y = check_output(c, n, NULL);
    k->bilinear(&s, x, y, check_pool(c, p));
    if (p == 0)
      check_near(c, "y", first = y, sums.to, sums.magnitude, n, 1e-6);
    else
      check_bits(c, "y on more threads", y, first, (size_t)n * sizeof *y);
  }
}

static void check_nearest(Check *c, int round)
{
  ResampleMode mode;
  ResampleShape s = random_shape(c, &mode, "nearest", round);
  if (!mode.nearest)
    return;
  const int b = 1 << check_int(c, 0, 3);
  const int64_t n = size_of(&s, true);
  const char *x = check_input_bytes(c, size_of(&s, false), b);
  char *want = check_output_bytes(c, n, b, NULL);
  for (int64_t i = 0; i < n / s.channels; ++i) {
    int64_t q = i % s.width.to, o = i / s.width.to % s.height.to;
    int64_t image = i / s.width.to / s.height.to, y[2], w[2];
    double share[2];
    shares(&s.height, mode, o, y, share);
    shares(&s.width, mode, q, w, share);
    int64_t at = (image * s.height.from + y[0]) * s.width.from + w[0];
    memcpy(want + i * s.channels * b, x + at * s.channels * b, (size_t)(s.channels * b));
  }
  for (int p = 0; p < CHECK_POOLS; ++p) {
    char *y = check_output_bytes(c, n, b, NULL);
    resample_nearest(&s, x, y, b, check_pool(c, p));
    check_bits(c, "y", y, want, (size_t)(n * b));
  }
}

static void check_gradient(Check *c, const ResampleKernels *k, int round)
{
  ResampleMode mode;
  const ResampleShape s = random_shape(c, &mode, "gradient", round);
  const int64_t n = size_of(&s, false);
  const bool accumulate = check_int(c, 0, 1);
  const float *dy = check_input(c, size_of(&s, true), -1, 1), *old = check_input(c, n, -1, 1);
  Sums sums = {dy, check_doubles(c, n), check_doubles(c, n), true};
  walk(&s, mode, &sums);
  for (int64_t i = 0; accumulate && i < n; ++i) {
    sums.to[i] += (double)old[i];
    sums.magnitude[i] += fabs((double)old[i]);
  }
  float *first = NULL;
  for (int p = 0; p < CHECK_POOLS; ++p) {
    float *dx = check_output(c, n, accumulate ? old : NULL);
    k->gradient(&s, dy, dx, accumulate, check_pool(c, p));
    if (p == 0)
      check_near(c, "dx", first = dx, sums.to, sums.magnitude, n, 3e-5);
    else
      check_bits(c, "dx on more threads", dx, first, (size_t)n * sizeof *dx);
  }
}

static void bench(Check *c, const ResampleKernels *k, int64_t channels)
{
  const ResampleMode mode = {.half_pixel = true};
  check_case(c, "bench");
  ResampleShape s = {.images = 8, .channels = channels};
  int32_t tables[2][4][112];
  float weights[2][112];
  ResampleAxis *axis[] = {&s.height, &s.width};
  for (int i = 0; i < 2; ++i) {
    *axis[i] = (ResampleAxis){56, 112, tables[i][0], tables[i][1], weights[i], tables[i][2],
                              tables[i][3]};
    resample_axis(axis[i], mode);
  }
  float *x = check_output(c, size_of(&s, false), NULL);
  float *y = check_output(c, size_of(&s, true), NULL);
  memset(x, 0, (size_t)size_of(&s, false) * sizeof *x);
  const double bytes = 4.0 * (double)(size_of(&s, false) + size_of(&s, true));
  for (int p = 0; p < 2; ++p) {
    CheckBench t = {0};
    while (check_bench_next(&t))
      k->bilinear(&s, x, y, check_pool(c, p));
    check_bench_report(c, &t, 0, bytes, "bilinear 56 to 112, %lld channels, %d threads",
                       (long long)channels, p + 1);
    t = (CheckBench){0};
    while (check_bench_next(&t))
      k->gradient(&s, y, x, false, check_pool(c, p));
    check_bench_report(c, &t, 0, bytes, "gradient, %d threads", p + 1);
    t = (CheckBench){0};
    while (check_bench_next(&t))
      resample_nearest(&s, x, y, 4, check_pool(c, p));
    check_bench_report(c, &t, 0, bytes, "nearest, %d threads", p + 1);
  }
}

void check_resample(Check *c)
{
  const ResampleKernels *k = resample_kernels_for(c->isa);
  if (!k)
    return;
  for (int round = 0; round < 3 * c->rounds; ++round)
    check_bilinear(c, k, round);
  for (int round = 0; round < 3 * c->rounds; ++round)
    check_nearest(c, round);
  for (int round = 0; round < 3 * c->rounds; ++round)
    check_gradient(c, k, round);
  if (c->bench) {
    bench(c, k, 64);
    bench(c, k, 3);
  }
}
