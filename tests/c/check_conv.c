// SPDX-License-Identifier: Apache-2.0
// Checks of convolution in its three directions: any geometry, groups, accumulation.
#include "convcheck.h"

#include "kernels/conv.h"

#include <math.h>
#include <string.h>

// All terms of output (n, oy, ox, o): its sum, and its shares of both gradients.
static void terms(const ConvShape *s, int64_t n, int64_t oy, int64_t ox, int64_t o,
                  const ConvReference *r)
{
  const int64_t cg = s->ic / s->groups, first = o / (s->oc / s->groups) * cg;
  const int64_t out = ((n * s->oh + oy) * s->ow + ox) * s->oc + o;
  for (int64_t ky = 0; ky < s->kh; ++ky) {
    for (int64_t kx = 0; kx < s->kw; ++kx) {
      int64_t iy = oy * s->sh + ky * s->dh - s->pt, ix = ox * s->sw + kx * s->dw - s->pl;
      if (iy < 0 || iy >= s->ih || ix < 0 || ix >= s->iw)
        continue;
      for (int64_t c = 0; c < cg; ++c) {
        int64_t in = ((n * s->ih + iy) * s->iw + ix) * s->ic + first + c;
        const int64_t front = s->is_swapped ? c : o, back = s->is_swapped ? o : c;
        int64_t at = ((front * s->kh + ky) * s->kw + kx) * (s->is_swapped ? s->oc : cg) + back;
        convcheck_term(r, in, at, out);
      }
    }
  }
}

static ConvShape random_shape(Check *c, int round)
{
  ConvShape s = {
    .n = (int32_t)check_int(c, 1, 3), .ic = (int32_t)check_size(c, 0, 40),
    .oc = (int32_t)check_size(c, 0, 40), .oh = (int32_t)check_int(c, 0, 9),
    .ow = (int32_t)check_int(c, 0, 9), .kh = (int32_t)check_int(c, 1, 4),
    .kw = (int32_t)check_int(c, 1, 4), .sh = (int32_t)check_int(c, 1, 3),
    .sw = (int32_t)check_int(c, 1, 3), .dh = (int32_t)check_int(c, 1, 3),
    .dw = (int32_t)check_int(c, 1, 3), .groups = 1,
    .act = (KernelAct)check_int(c, KACT_NONE, KACT_TANH),
  };
  s.n -= check_int(c, 0, 19) == 0;
  switch (round % 8) {
  case 0: // pointwise
    s.kh = s.kw = s.sh = s.sw = 1;
    break;
  case 1: // the usual: 3x3, padded
    s.kh = s.kw = 3;
    s.dh = s.dw = 1;
    s.sh = s.sw = (int32_t)check_int(c, 1, 2);
    s.oh = (int32_t)check_int(c, 1, 20);
    s.ow = (int32_t)check_int(c, 1, 20);
    break;
  case 2: // groups
    s.groups = (int32_t)check_int(c, 2, 5);
    s.ic = s.groups * (int32_t)check_int(c, 1, 9);
    s.oc = s.groups * (int32_t)check_int(c, 1, 9);
    break;
  case 3: // few channels
    s.ic = (int32_t)check_int(c, 1, 4);
    s.dh = s.dw = 1;
    s.oh = (int32_t)check_int(c, 1, 30);
    s.ow = (int32_t)check_int(c, 1, 30);
    break;
  case 4: // many
    s.ic = (int32_t)check_size(c, 1, 700);
    s.oc = (int32_t)check_size(c, 1, 300);
    s.oh = (int32_t)check_int(c, 1, 4);
    s.ow = (int32_t)check_int(c, 1, 4);
    break;
  case 5: // 3x3 of stride 1 with enough channels for Winograd's transforms
    s.kh = s.kw = 3;
    s.sh = s.sw = s.dh = s.dw = 1;
    s.ic = 16 * (int32_t)check_int(c, 2, 5) + 4 * (int32_t)check_int(c, 0, 1);
    s.oc = 16 * (int32_t)check_int(c, 2, 9);
    s.oh = (int32_t)check_int(c, 1, 17);
    s.ow = (int32_t)check_int(c, 1, 17);
    break;
  default:
    break;
  }
  // Any size goes with any number of windows: windows outside the image, pixels without a window.
  s.pt = (int32_t)check_int(c, 0, 1) * (int32_t)check_int(c, 0, s.kh * s.dh);
  s.pl = (int32_t)check_int(c, 0, 1) * (int32_t)check_int(c, 0, s.kw * s.dw);
  s.ih = (s.oh - 1) * s.sh + (s.kh - 1) * s.dh + 1 - s.pt - (int32_t)check_int(c, -2, 3);
  s.iw = (s.ow - 1) * s.sw + (s.kw - 1) * s.dw + 1 - s.pl - (int32_t)check_int(c, -2, 3);
  if (round % 8 == 0 && round % 3) {
    s.pt = s.pl = 0;
    s.ih = s.oh;
    s.iw = s.ow;
  }
  s.ih = s.ih < 0 ? 0 : s.ih;
  s.iw = s.iw < 0 ? 0 : s.iw;
  return s;
}

// Windows of any number of elements beside full panels, in whole blocks of pixels.
static void check_panels(Check *c, const ConvKernels *k)
{
  for (int32_t ic = 65; ic <= 96; ++ic) {
    const ConvShape s = {.n = 1, .ih = 31, .iw = 31, .ic = ic, .oh = 16, .ow = 16, .oc = 9, .kh = 1,
                         .kw = 1, .sh = 2, .sw = 2, .dh = 1, .dw = 1, .groups = 1,
                         .act = KACT_NONE};
    convcheck_shape(c, k, &s, (int64_t)s.oc * ic, terms);
  }
}

// A result too large for caches takes another way to memory. One product each, so that results are
// known to the bit.
static void check_large(Check *c, const ConvKernels *k)
{
  ConvShape s = {.n = 1, .ih = 640, .iw = 640, .ic = 1, .oh = 640, .ow = 640, .oc = 16, .kh = 1,
                 .kw = 1, .sh = 1, .sw = 1, .dh = 1, .dw = 1, .groups = 1, .act = KACT_NONE};
  check_case(c, "large");
  const int64_t pixels = (int64_t)s.oh * s.ow;
  const float *x = check_input(c, pixels, -1, 1), *w = check_input(c, s.oc, -1, 1);
  for (int p = 0; p < CHECK_POOLS; ++p) {
    Pool *pool = check_pool(c, p);
    float *y = check_scratch(c, (size_t)(pixels * s.oc) * sizeof *y);
    void *scratch = check_scratch(c, k->forward_scratch(&s, pool_threads(pool)));
    k->forward(&s, x, w, NULL, NULL, y, scratch, pool);
    for (int64_t i = 0; i < pixels * s.oc; ++i) {
      if (y[i] != x[i / s.oc] * w[i % s.oc]) {
        check_fail(c, "y[%lld] is %g", (long long)i, y[i]);
        break;
      }
    }
  }
}

// Convolutions of a network: `times` of the shape [n,in,in,ic] -> oc filters.
typedef struct {
  int times, in, ic, oc, k, stride;
} Layer;

static const Layer mobilenet_v2[] = {
  {1, 224, 3, 32, 3, 2}, {1, 112, 32, 16, 1, 1}, {1, 112, 16, 96, 1, 1}, {1, 56, 96, 24, 1, 1},
  {2, 56, 24, 144, 1, 1}, {1, 56, 144, 24, 1, 1}, {1, 28, 144, 32, 1, 1}, {3, 28, 32, 192, 1, 1},
  {2, 28, 192, 32, 1, 1}, {1, 14, 192, 64, 1, 1}, {4, 14, 64, 384, 1, 1}, {3, 14, 384, 64, 1, 1},
  {1, 14, 384, 96, 1, 1}, {3, 14, 96, 576, 1, 1}, {2, 14, 576, 96, 1, 1}, {1, 7, 576, 160, 1, 1},
  {3, 7, 160, 960, 1, 1}, {2, 7, 960, 160, 1, 1}, {1, 7, 960, 320, 1, 1},
  {1, 7, 320, 1280, 1, 1}, {0},
};
static const Layer vgg16[] = {
  {1, 224, 3, 64, 3, 1}, {1, 224, 64, 64, 3, 1}, {1, 112, 64, 128, 3, 1},
  {1, 112, 128, 128, 3, 1}, {1, 56, 128, 256, 3, 1}, {2, 56, 256, 256, 3, 1},
  {1, 28, 256, 512, 3, 1}, {2, 28, 512, 512, 3, 1}, {3, 14, 512, 512, 3, 1}, {0},
};
static const Layer mnist[] = {{1, 28, 1, 32, 3, 1}, {1, 14, 32, 64, 3, 1}, {0}};

// Aligned as tensors are, unlike the buffers of the checks.
static float *bench_buffer(Check *c, int64_t n)
{
  float *p = check_scratch(c, (size_t)n * sizeof *p);
  for (int64_t i = 0; i < n; ++i)
    p[i] = check_float(c, -1, 1);
  return p;
}

static void bench_network(Check *c, const ConvKernels *k, const char *name, const Layer *layers,
                          int batch)
{
  static const char *const ways[] = {"forward", "input_grad", "filter_grad"};
  double seconds[2][3] = {{0}}, flops = 0;
  for (const Layer *l = layers; l->times; ++l) {
    int out = (l->in + l->stride - 1) / l->stride;
    ConvShape s = {.n = batch, .ih = l->in, .iw = l->in, .ic = l->ic, .oh = out, .ow = out,
                   .oc = l->oc, .kh = l->k, .kw = l->k, .sh = l->stride, .sw = l->stride, .dh = 1,
                   .dw = 1, .pt = (l->k - l->stride + 1) / 2, .pl = (l->k - l->stride + 1) / 2,
                   .groups = 1, .act = KACT_RELU6};
    check_case(c, "bench");
    const int64_t n_x = (int64_t)s.n * s.ih * s.iw * s.ic, n_y = (int64_t)s.n * out * out * s.oc;
    const int64_t n_w = (int64_t)s.oc * s.kh * s.kw * s.ic;
    const float *x = bench_buffer(c, n_x), *w = bench_buffer(c, n_w);
    const float *dy = bench_buffer(c, n_y), *bias = bench_buffer(c, s.oc);
    float *y = bench_buffer(c, n_y), *dx = bench_buffer(c, n_x);
    float *dw = bench_buffer(c, n_w), *db = bench_buffer(c, s.oc);
    const double one = 2.0 * (double)n_y * s.kh * s.kw * s.ic;
    flops += l->times * one;
    for (int p = 0; p < 2; ++p) {
      Pool *pool = check_pool(c, p);
      void *scratch[3] = {check_scratch(c, k->forward_scratch(&s, p + 1)),
                          check_scratch(c, k->input_grad_scratch(&s, p + 1)),
                          check_scratch(c, k->filter_grad_scratch(&s, p + 1))};
      CheckBench t[3] = {0};
      while (check_bench_next(&t[0]))
        k->forward(&s, x, w, bias, NULL, y, scratch[0], pool);
      // The gradient with respect to the images is never needed.
      while (l->ic > 3 && check_bench_next(&t[1]))
        k->input_grad(&s, dy, w, NULL, x, dx, scratch[1], pool);
      while (check_bench_next(&t[2]))
        k->filter_grad(&s, x, dy, dw, db, false, scratch[2], pool);
      for (int i = 0; i < 3; ++i) {
        seconds[p][i] += l->times * t[i].best;
        if (t[i].calls)
          check_bench_report(c, &t[i], one, 0, "%s %d %dx%d->%d k%d s%d, %d thr", ways[i],
                             l->in, l->in, l->ic, l->oc, l->k, l->stride, p + 1);
      }
    }
  }
  for (int p = 0; p < 2; ++p) {
    for (int i = 0; i < 3; ++i) {
      CheckBench total = {.best = seconds[p][i]};
      check_bench_report(c, &total, flops, 0, "%s batch %d %s, %d threads", name, batch, ways[i],
                         p + 1);
    }
  }
}

void check_conv(Check *c)
{
  const ConvKernels *k = conv_kernels_for(c->isa);
  if (!k)
    return;
  for (int round = 0; round < 3 * c->rounds; ++round) {
    ConvShape s = random_shape(c, round);
    s.is_swapped = s.groups == 1 && check_int(c, 0, 2) == 0;
    convcheck_shape(c, k, &s, (int64_t)s.oc * s.kh * s.kw * (s.ic / s.groups), terms);
  }
  check_panels(c, k);
  check_large(c, k);
  if (c->bench) {
    bench_network(c, k, "mnist", mnist, 32);
    bench_network(c, k, "mobilenet_v2", mobilenet_v2, 10);
    bench_network(c, k, "vgg16", vgg16, 2);
  }
}
