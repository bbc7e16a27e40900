// SPDX-License-Identifier: Apache-2.0
// Convolution in its three directions, compiled once per instruction set: forward and input
// gradient as sweeps over taps (conv_sweep.h), or through Winograd's transforms (winograd.h); the
// filter gradient in conv_filter.h.
#include "kernels/conv.h"

#include "kernels/conv_filter.h"
#include "kernels/conv_sweep.h"

static bool has_result(const ConvShape *s, bool is_forward)
{
  return s->n > 0 && (is_forward ? s->oh > 0 && s->ow > 0 && s->oc > 0
                                 : s->ih > 0 && s->iw > 0 && s->ic > 0);
}

static size_t scratch_of(const ConvShape *s, int threads, bool is_forward)
{
  if (!has_result(s, is_forward))
    return 0;
  if (wino_suits(s)) {
    Wino p = wino_plan(s, is_forward);
    return wino_lay_out(&p, NULL, threads);
  }
  Sweep p = sweep_plan(s, is_forward);
  return sweep_lay_out(&p, NULL, threads);
}

static size_t forward_scratch(const ConvShape *s, int threads)
{
  return scratch_of(s, threads, true);
}

static size_t input_grad_scratch(const ConvShape *s, int threads)
{
  return scratch_of(s, threads, false);
}

// Filters of one round; behind them the taps, which packing needs.
static size_t packed_bytes(const ConvShape *s, ConvWay way)
{
  if (!has_result(s, way == CONV_FORWARD))
    return 0;
  if (wino_suits(s)) {
    Wino p = wino_plan(s, way == CONV_FORWARD);
    return wino_packed_bytes(&p);
  }
  Sweep p = sweep_plan(s, way == CONV_FORWARD);
  return p.n_pad < p.n_c ? 0 : core_aligned(sweep_packed_bytes(&p)) + sweep_taps_bytes(&p);
}

static void pack(const ConvShape *s, ConvWay way, const float *w, void *packed)
{
  if (wino_suits(s)) {
    Wino p = wino_plan(s, way == CONV_FORWARD);
    wino_pack(&p, w, packed, NULL);
    return;
  }
  Sweep p = sweep_plan(s, way == CONV_FORWARD);
  char *taps = (char *)packed + core_aligned(sweep_packed_bytes(&p));
  sweep_lay_out_taps(&p, &taps);
  sweep_fill_taps(&p);
  p.o.w = w;
  p.packed = packed;
  p.n_cols = p.n_c;
  pool_run(NULL, (int)(s->groups * core_ceil(p.n_cols, CORE_COLS)), sweep_pack_task, &p);
}

static void run(const ConvShape *s, bool is_forward, const ConvOperands *o, void *scratch,
                Pool *pool)
{
  if (!has_result(s, is_forward))
    return;
  if (wino_suits(s)) {
    Wino p = wino_plan(s, is_forward);
    p.o = *o;
    wino_run(&p, scratch, pool);
    return;
  }
  Sweep p = sweep_plan(s, is_forward);
  p.o = *o;
  sweep_run(&p, scratch, pool);
}

static void forward(const ConvShape *s, const float *x, const float *w, const float *bias,
                    const float *add, float *y, void *scratch, Pool *pool)
{
  const ConvOperands o = {.src = x, .w = w, .bias = bias, .add = add, .dst = y, .act = s->act};
  run(s, true, &o, scratch, pool);
}

static void input_grad(const ConvShape *s, const float *dy, const float *w, const float *add,
                       const float *mask, float *dx, void *scratch, Pool *pool)
{
  const ConvOperands o = {.src = dy, .w = w, .add = add, .mask = mask, .dst = dx,
                          .act = mask ? s->act : KACT_NONE};
  run(s, false, &o, scratch, pool);
}

static void transpose(const ConvShape *s, const float *x, const float *w, const float *bias,
                      const float *add, float *y, void *scratch, Pool *pool)
{
  const ConvOperands o = {.src = x, .w = w, .bias = bias, .add = add, .dst = y, .act = s->act};
  run(s, false, &o, scratch, pool);
}

extern const ConvKernels KERNEL_TABLE(conv);
const ConvKernels KERNEL_TABLE(conv) = {
  .packed_bytes = packed_bytes,
  .pack = pack,
  .forward_scratch = forward_scratch,
  .forward = forward,
  .input_grad_scratch = input_grad_scratch,
  .input_grad = input_grad,
  .transpose = transpose,
  .filter_grad_scratch = filter_grad_scratch,
  .filter_grad = filter_grad,
};
