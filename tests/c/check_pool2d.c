// SPDX-License-Identifier: Apache-2.0
// Checks of the pooling kernels: windows of any size, stride and padding, ties and NaN.
#include "checkkern.h"

#include "kernels/pool2d.h"

#include <math.h>
#include <string.h>

// Cells of window (oy, ox) inside the input, as index ranges.
typedef struct {
  int32_t y0, y1, x0, x1;
} Window;

static Window window_at(const Pool2dShape *s, int32_t oy, int32_t ox)
{
  Window w = {oy * s->sh - s->pt, oy * s->sh - s->pt + s->kh, ox * s->sw - s->pl,
              ox * s->sw - s->pl + s->kw};
  w.y0 = w.y0 < 0 ? 0 : w.y0;
  w.x0 = w.x0 < 0 ? 0 : w.x0;
  w.y1 = w.y1 > s->ih ? s->ih : w.y1;
  w.x1 = w.x1 > s->iw ? s->iw : w.x1;
  return w;
}

static int64_t cell(const Pool2dShape *s, int64_t n, int32_t iy, int32_t ix, int32_t ch)
{
  return ((n * s->ih + iy) * s->iw + ix) * s->c + ch;
}

static double activate(KernelAct act, double v)
{
  switch (act) {
  case KACT_RELU:
    return v < 0 ? 0 : v;
  case KACT_RELU_N1_TO_1:
    return v < -1 ? -1 : v > 1 ? 1 : v;
  case KACT_RELU6:
    return v < 0 ? 0 : v > 6 ? 6 : v;
  case KACT_TANH:
    return tanh(v);
  default:
    return v;
  }
}

// References of all four kernels; magnitude of averages and of gradients.
typedef struct {
  const float *x, *dy;
  double *max, *average, *average_size, *max_grad, *average_grad, *grad_size;
} Reference;

static void reference_window(const Pool2dShape *s, int64_t n, int32_t oy, int32_t ox, int32_t ch,
                             Reference *r)
{
  Window w = window_at(s, oy, ox);
  int64_t out = ((n * s->oh + oy) * s->ow + ox) * s->c + ch, best = -1, count = 0;
  double sum = 0, size = 0;
  for (int32_t iy = w.y0; iy < w.y1; ++iy) {
    for (int32_t ix = w.x0; ix < w.x1; ++ix) {
      int64_t at = cell(s, n, iy, ix, ch);
      float v = r->x[at];
      if (best < 0 || (!isnan(r->x[best]) && (v > r->x[best] || isnan(v))))
        best = at;
      sum += v;
      size += fabs(v);
      ++count;
    }
  }
  r->max[out] = activate(s->act, count ? r->x[best] : 0);
  r->average[out] = activate(s->act, count ? sum / (double)count : 0);
  r->average_size[out] = count ? size / (double)count : 0;
  if (count == 0)
    return;
  r->max_grad[best] += r->dy[out];
  for (int32_t iy = w.y0; iy < w.y1; ++iy) {
    for (int32_t ix = w.x0; ix < w.x1; ++ix) {
      r->average_grad[cell(s, n, iy, ix, ch)] += r->dy[out] / (double)count;
      r->grad_size[cell(s, n, iy, ix, ch)] += fabs(r->dy[out]);
    }
  }
}

static Pool2dShape random_shape(Check *c, int round)
{
  Pool2dShape s = {
    .n = (int32_t)check_int(c, 0, 4), .c = (int32_t)check_size(c, 0, 200),
    .kh = (int32_t)check_int(c, 1, 4), .kw = (int32_t)check_int(c, 1, 4),
    .sh = (int32_t)check_int(c, 1, 4), .sw = (int32_t)check_int(c, 1, 4),
    .oh = (int32_t)check_int(c, 0, 7), .ow = (int32_t)check_int(c, 0, 7),
    .act = (KernelAct)check_int(c, KACT_NONE, KACT_TANH),
  };
  s.n += s.n == 0 && check_int(c, 0, 9);
  s.c += s.c == 0 && check_int(c, 0, 9);
  if (round % 3 == 0) { // halving, with and without remains
    s.kh = s.kw = s.sh = s.sw = 2;
    s.oh = (int32_t)check_int(c, 1, 20);
    s.ow = (int32_t)check_int(c, 1, 20);
  }
  if (round % 7 == 1) { // over the whole image
    s.kh = (int32_t)check_int(c, 1, 30);
    s.kw = (int32_t)check_int(c, 1, 30);
    s.oh = s.ow = 1;
  }
  s.pt = (int32_t)check_int(c, 0, 1) * (int32_t)check_int(c, 0, s.kh);
  s.pl = (int32_t)check_int(c, 0, 1) * (int32_t)check_int(c, 0, s.kw);
  // Any size goes with any number of windows: cells without a window, windows without a cell.
  s.ih = s.oh * s.sh - s.pt + (int32_t)check_int(c, -2, 4);
  s.iw = s.ow * s.sw - s.pl + (int32_t)check_int(c, -2, 4);
  if (round % 7 == 1)
    s.ih = s.kh, s.iw = s.kw;
  if (round % 6 == 0) {
    s.ih = s.oh * 2 + (int32_t)check_int(c, 0, 1);
    s.iw = s.ow * 2 + (int32_t)check_int(c, 0, 1);
    s.pt = s.pl = 0;
  }
  s.ih = s.ih < 1 ? 1 : s.ih;
  s.iw = s.iw < 1 ? 1 : s.iw;
  return s;
}

static void fill_input(Check *c, float *x, int64_t n)
{
  // Few values make ties; some NaN and infinities.
  bool ties = check_int(c, 0, 1), special = check_int(c, 0, 3) == 0;
  for (int64_t i = 0; i < n && ties; ++i)
    x[i] = (float)check_int(c, -2, 2);
  for (int64_t i = 0; i < n && special; ++i)
    if (check_int(c, 0, 15) == 0)
      x[i] = check_int(c, 0, 2) == 0 ? NAN : check_int(c, 0, 1) ? INFINITY : -INFINITY;
  check_input_changed(c, x);
}

static void check_shape(Check *c, const Pool2dKernels *k, int round)
{
  Pool2dShape s = random_shape(c, round);
  bool accumulate = check_int(c, 0, 1);
  check_case(c, "x[%d,%d,%d,%d] y[%d,%d] k%dx%d s%dx%d pad %d,%d act %d accumulate %d", s.n, s.ih,
             s.iw, s.c, s.oh, s.ow, s.kh, s.kw, s.sh, s.sw, s.pt, s.pl, s.act, accumulate);
  int64_t n_x = (int64_t)s.n * s.ih * s.iw * s.c, n_y = (int64_t)s.n * s.oh * s.ow * s.c;
  float *x = check_input(c, n_x, -3, 8), *dy = check_input(c, n_y, -1, 1);
  float *old = check_input(c, n_x, -1, 1);
  fill_input(c, x, n_x);
  Reference r = {x, dy, check_doubles(c, n_y), check_doubles(c, n_y), check_doubles(c, n_y),
                 check_doubles(c, n_x), check_doubles(c, n_x), check_doubles(c, n_x)};
  for (int64_t i = 0; i < n_x && accumulate; ++i) {
    r.max_grad[i] = r.average_grad[i] = old[i];
    r.grad_size[i] = fabs(old[i]);
  }
  for (int64_t n = 0; n < s.n; ++n)
    for (int32_t oy = 0; oy < s.oh; ++oy)
      for (int32_t ox = 0; ox < s.ow; ++ox)
        for (int32_t ch = 0; ch < s.c; ++ch)
          reference_window(&s, n, oy, ox, ch, &r);
  float *first[4] = {0};
  for (int p = 0; p < CHECK_POOLS; ++p) {
    Pool *pool = check_pool(c, p);
    float *y_max = check_output(c, n_y, NULL), *y_average = check_output(c, n_y, NULL);
    float *dx_max = check_output(c, n_x, accumulate ? old : NULL);
    float *dx_average = check_output(c, n_x, accumulate ? old : NULL);
    k->max(&s, x, y_max, pool);
    k->average(&s, x, y_average, pool);
    k->max_grad(&s, x, dy, dx_max, accumulate, pool);
    k->average_grad(&s, dy, dx_average, accumulate, pool);
    float *got[4] = {y_max, y_average, dx_max, dx_average};
    if (p == 0) {
      check_near(c, "max", y_max, r.max, NULL, n_y, 4e-7);
      check_near(c, "average", y_average, r.average, r.average_size, n_y, 1e-6);
      check_near(c, "max_grad", dx_max, r.max_grad, r.grad_size, n_x, 1e-6);
      check_near(c, "average_grad", dx_average, r.average_grad, r.grad_size, n_x, 1e-6);
      memcpy(first, got, sizeof first);
      continue;
    }
    for (int i = 0; i < 4; ++i)
      check_bits(c, i == 0 ? "max" : i == 1 ? "average" : i == 2 ? "max_grad" : "average_grad",
                 got[i], first[i], (size_t)(i < 2 ? n_y : n_x) * sizeof(float));
  }
}

static void bench(Check *c, const Pool2dKernels *k)
{
  static const Pool2dShape shapes[] = {
    {.n = 32, .ih = 112, .iw = 112, .c = 32, .oh = 56, .ow = 56,
     .kh = 2, .kw = 2, .sh = 2, .sw = 2},
    {.n = 32, .ih = 112, .iw = 112, .c = 64, .oh = 56, .ow = 56,
     .kh = 3, .kw = 3, .sh = 2, .sw = 2},
    {.n = 32, .ih = 7, .iw = 7, .c = 1280, .oh = 1, .ow = 1, .kh = 7, .kw = 7, .sh = 7, .sw = 7},
  };
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    const Pool2dShape *s = &shapes[i];
    check_case(c, "bench");
    int64_t n_x = (int64_t)s->n * s->ih * s->iw * s->c, n_y = (int64_t)s->n * s->oh * s->ow * s->c;
    float *x = check_input(c, n_x, -1, 1), *dy = check_input(c, n_y, -1, 1);
    float *y = check_output(c, n_y, NULL), *dx = check_output(c, n_x, NULL);
    double forward = 4.0 * (double)(n_x + n_y), backward = 4.0 * (double)(2 * n_x + n_y);
    for (int p = 0; p < 2; ++p) {
      Pool *pool = check_pool(c, p);
      CheckBench t[4] = {0};
      while (check_bench_next(&t[0]))
        k->max(s, x, y, pool);
      while (check_bench_next(&t[1]))
        k->max_grad(s, x, dy, dx, false, pool);
      while (check_bench_next(&t[2]))
        k->average(s, x, y, pool);
      while (check_bench_next(&t[3]))
        k->average_grad(s, dy, dx, false, pool);
      static const char *const names[] = {"max", "max_grad", "average", "average_grad"};
      for (int j = 0; j < 4; ++j)
        check_bench_report(c, &t[j], 0, j == 1 ? backward : forward, "%s k%d s%d c%d, %d threads",
                           names[j], s->kh, s->sh, s->c, p + 1);
    }
  }
}

void check_pool2d(Check *c)
{
  const Pool2dKernels *k = pool2d_kernels_for(c->isa);
  if (!k)
    return;
  for (int round = 0; round < 3 * c->rounds; ++round)
    check_shape(c, k, round);
  if (c->bench)
    bench(c, k);
}
