// SPDX-License-Identifier: Apache-2.0
// Checks of depthwise convolution in its three directions: any geometry and multiplier.
#include "convcheck.h"

#include "kernels/dwconv.h"

#include <math.h>

// All terms of output (n, oy, ox, o): its sum, and its shares of both gradients.
static void terms(const ConvShape *s, int64_t n, int64_t oy, int64_t ox, int64_t o,
                  const ConvReference *r)
{
  const int64_t c = (int64_t)s->oc, out = ((n * s->oh + oy) * s->ow + ox) * c + o;
  for (int64_t ky = 0; ky < s->kh; ++ky) {
    for (int64_t kx = 0; kx < s->kw; ++kx) {
      int64_t iy = oy * s->sh + ky * s->dh - s->pt, ix = ox * s->sw + kx * s->dw - s->pl;
      if (iy < 0 || iy >= s->ih || ix < 0 || ix >= s->iw)
        continue;
      int64_t in = ((n * s->ih + iy) * s->iw + ix) * s->ic + o / dwconv_multiplier(s);
      int64_t at = (ky * s->kw + kx) * c + o;
      convcheck_term(r, in, at, out);
    }
  }
}

static ConvShape random_shape(Check *c, int round)
{
  int32_t multiplier = 1;
  ConvShape s = {
    .n = (int32_t)check_int(c, 1, 3), .ic = (int32_t)check_size(c, 0, 70),
    .oh = (int32_t)check_int(c, 0, 12), .ow = (int32_t)check_int(c, 0, 12),
    .kh = (int32_t)check_int(c, 1, 5), .kw = (int32_t)check_int(c, 1, 5),
    .sh = (int32_t)check_int(c, 1, 3), .sw = (int32_t)check_int(c, 1, 3),
    .dh = (int32_t)check_int(c, 1, 3), .dw = (int32_t)check_int(c, 1, 3),
    .act = (KernelAct)check_int(c, KACT_NONE, KACT_TANH),
  };
  s.n -= check_int(c, 0, 19) == 0;
  switch (round % 4) {
  case 0: // the usual: 3x3 and 5x5
    s.kh = s.kw = check_int(c, 0, 2) ? 3 : 5;
    s.dh = s.dw = 1;
    s.sh = s.sw = (int32_t)check_int(c, 1, 2);
    s.ic = (int32_t)check_size(c, 1, 400);
    break;
  case 1:
    multiplier = (int32_t)check_int(c, 0, 9);
    s.ic = (int32_t)check_int(c, 0, 9);
    break;
  case 2:
    s.kh = s.kw = 3;
    s.dh = s.dw = 1;
    break;
  default:
    break;
  }
  // Any size goes with any number of windows: windows outside the image, pixels without a window.
  s.pt = (int32_t)check_int(c, 0, 1) * (int32_t)check_int(c, 0, s.kh * s.dh);
  s.pl = (int32_t)check_int(c, 0, 1) * (int32_t)check_int(c, 0, s.kw * s.dw);
  s.ih = (s.oh - 1) * s.sh + (s.kh - 1) * s.dh + 1 - s.pt - (int32_t)check_int(c, -2, 3);
  s.iw = (s.ow - 1) * s.sw + (s.kw - 1) * s.dw + 1 - s.pl - (int32_t)check_int(c, -2, 3);
  s.ih = s.ih < 0 ? 0 : s.ih;
  s.iw = s.iw < 0 ? 0 : s.iw;
  s.oc = s.ic * multiplier;
  return s;
}

// Depthwise layers of MobileNetV2: `times` of [10,in,in,c], 3x3.
typedef struct {
  int times, in, c, stride;
} Layer;

static const Layer mobilenet_v2[] = {
  {1, 112, 32, 1}, {1, 112, 96, 2}, {1, 56, 144, 1}, {1, 56, 144, 2}, {2, 28, 192, 1},
  {1, 28, 192, 2}, {4, 14, 384, 1}, {2, 14, 576, 1}, {1, 14, 576, 2}, {3, 7, 960, 1},
};

// Aligned as tensors are, unlike the buffers of the checks.
static float *bench_buffer(Check *c, int64_t n)
{
  float *p = check_scratch(c, (size_t)n * sizeof *p);
  for (int64_t i = 0; i < n; ++i)
    p[i] = check_float(c, -1, 1);
  return p;
}

static void bench(Check *c, const ConvKernels *k)
{
  static const char *const ways[] = {"forward", "input_grad", "filter_grad"};
  double seconds[2][3] = {{0}}, flops = 0;
  for (size_t i = 0; i < sizeof mobilenet_v2 / sizeof *mobilenet_v2; ++i) {
    const Layer *l = &mobilenet_v2[i];
    int out = l->in / l->stride + (l->in % l->stride != 0);
    ConvShape s = {.n = 10, .ih = l->in, .iw = l->in, .ic = l->c, .oh = out, .ow = out, .oc = l->c,
                     .kh = 3, .kw = 3, .sh = l->stride, .sw = l->stride, .dh = 1, .dw = 1,
                     .pt = 2 - l->stride, .pl = 2 - l->stride, .act = KACT_RELU6};
    check_case(c, "bench");
    const int64_t n_x = (int64_t)s.n * s.ih * s.iw * s.ic, n_y = (int64_t)s.n * out * out * s.ic;
    const float *x = bench_buffer(c, n_x), *w = bench_buffer(c, 9 * s.ic);
    const float *dy = bench_buffer(c, n_y), *bias = bench_buffer(c, s.ic);
    float *y = bench_buffer(c, n_y), *dx = bench_buffer(c, n_x);
    float *dw = bench_buffer(c, 9 * s.ic), *db = bench_buffer(c, s.ic);
    const double one = 18.0 * (double)n_y, bytes = 4.0 * (double)(n_x + n_y);
    flops += l->times * one;
    for (int p = 0; p < 2; ++p) {
      Pool *pool = check_pool(c, p);
      void *scratch[3] = {check_scratch(c, k->forward_scratch(&s, p + 1)),
                          check_scratch(c, k->input_grad_scratch(&s, p + 1)),
                          check_scratch(c, k->filter_grad_scratch(&s, p + 1))};
      CheckBench t[3] = {0};
      while (check_bench_next(&t[0]))
        k->forward(&s, x, w, bias, NULL, y, scratch[0], pool);
      while (check_bench_next(&t[1]))
        k->input_grad(&s, dy, w, NULL, x, dx, scratch[1], pool);
      while (check_bench_next(&t[2]))
        k->filter_grad(&s, x, dy, dw, db, false, scratch[2], pool);
      for (int j = 0; j < 3; ++j) {
        seconds[p][j] += l->times * t[j].best;
        check_bench_report(c, &t[j], one, bytes, "%s %dx%dx%d s%d, %d thr", ways[j], l->in, l->in,
                           l->c, l->stride, p + 1);
      }
    }
  }
  for (int p = 0; p < 2; ++p) {
    for (int j = 0; j < 3; ++j) {
      CheckBench total = {.best = seconds[p][j]};
      check_bench_report(c, &total, flops, 0, "mobilenet_v2 batch 10 %s, %d threads", ways[j],
                         p + 1);
    }
  }
}

void check_dwconv(Check *c)
{
  const ConvKernels *k = dwconv_kernels_for(c->isa);
  if (!k)
    return;
  for (int round = 0; round < 3 * c->rounds; ++round) {
    ConvShape s = random_shape(c, round);
    convcheck_shape(c, k, &s, (int64_t)s.kh * s.kw * s.oc, terms);
  }
  if (c->bench)
    bench(c, k);
}
