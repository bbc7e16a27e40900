// SPDX-License-Identifier: Apache-2.0
// Functions of one operand and their gradients: a part of eltwise_tmpl.c, compiled with it once per
// instruction set.
#ifndef KERNELS_ELTWISE_UNARY_H
#define KERNELS_ELTWISE_UNARY_H

#include "kernels/eltwise.h"

#include "kernels/span.h"
#include "kernels/vmath.h"

#include <math.h>

#define LOOP(n, statement)                                                                         \
  do {                                                                                             \
    VM_INDEPENDENT                                                                                 \
    for (int64_t i = 0; i < (n); ++i)                                                              \
      statement;                                                                                   \
  } while (0)

#define ASSIGN(expression)                                                                         \
  do {                                                                                             \
    if (accumulate)                                                                                \
      LOOP(n, dx[i] += (expression));                                                              \
    else                                                                                           \
      LOOP(n, dx[i] = (expression));                                                               \
  } while (0)

typedef struct {
  KernelUnary op;
  float alpha;
  const float *x, *dy; // x: operand of the function, or what its gradient reads
  float *dst;
  bool accumulate;
} Unary;

#define GELU_SCALE 0.797884561f // sqrt(2 / pi)
#define GELU_CUBE 0.044715f
#define BELL_HEIGHT 0.398942280f // 1 / sqrt(2 pi)

static inline float unary_gelu_tanh(float x)
{
  return x * vm_logistic(2 * GELU_SCALE * (x + GELU_CUBE * x * x * x));
}

static inline float unary_hard_swish(float x)
{
  return x * (vm_clamp(x + 3.0f, 0, 6) / 6.0f);
}

static inline float unary_sign(float x)
{
  return vm_select(x > 0, 1.0f, vm_select(x < 0, -1.0f, x));
}

static void unary_body(void *context, int64_t first, int64_t n)
{
  const Unary *c = context;
  const float *x = c->x + first, alpha = c->alpha;
  float *y = c->dst + first;
  switch (c->op) {
  case KUN_RELU:
    LOOP(n, y[i] = vm_select(x[i] < 0, 0, x[i]));
    break;
  case KUN_RELU6:
    LOOP(n, y[i] = vm_clamp(x[i], 0, 6));
    break;
  case KUN_RELU_N1_TO_1:
    LOOP(n, y[i] = vm_clamp(x[i], -1, 1));
    break;
  case KUN_RELU_0_TO_1:
    LOOP(n, y[i] = vm_clamp(x[i], 0, 1));
    break;
  case KUN_LOGISTIC:
    LOOP(n, y[i] = vm_logistic(x[i]));
    break;
  case KUN_TANH:
    LOOP(n, y[i] = vm_tanh(x[i]));
    break;
  case KUN_LEAKY_RELU:
    LOOP(n, y[i] = vm_select(x[i] >= 0, x[i], alpha * x[i]));
    break;
  case KUN_ELU:
    LOOP(n, y[i] = vm_select(x[i] > 0, x[i], vm_expm1(x[i])));
    break;
  case KUN_GELU:
    LOOP(n, y[i] = x[i] * vm_normal_cdf(x[i], vm_bell(x[i])));
    break;
  case KUN_GELU_TANH:
    LOOP(n, y[i] = unary_gelu_tanh(x[i]));
    break;
  case KUN_HARD_SWISH:
    LOOP(n, y[i] = unary_hard_swish(x[i]));
    break;
  case KUN_NEG:
    LOOP(n, y[i] = -x[i]);
    break;
  case KUN_ABS:
    LOOP(n, y[i] = vm_abs(x[i]));
    break;
  case KUN_SQUARE:
    LOOP(n, y[i] = x[i] * x[i]);
    break;
  case KUN_SQRT:
    LOOP(n, y[i] = sqrtf(x[i]));
    break;
  case KUN_RSQRT:
    LOOP(n, y[i] = 1.0f / sqrtf(x[i]));
    break;
  case KUN_EXP:
    LOOP(n, y[i] = vm_exp(x[i]));
    break;
  case KUN_LOG:
    LOOP(n, y[i] = vm_log(x[i]));
    break;
  case KUN_SIN:
    LOOP(n, y[i] = sinf(x[i]));
    break;
  case KUN_COS:
    LOOP(n, y[i] = cosf(x[i]));
    break;
  case KUN_FLOOR:
    LOOP(n, y[i] = floorf(x[i]));
    break;
  case KUN_CEIL:
    LOOP(n, y[i] = ceilf(x[i]));
    break;
  case KUN_ROUND: // half to even
    LOOP(n, y[i] = rintf(x[i]));
    break;
  case KUN_SIGN:
    LOOP(n, y[i] = unary_sign(x[i]));
    break;
  }
}

// In simple operations.
static int64_t unary_cost(KernelUnary op)
{
  switch (op) {
  case KUN_LOGISTIC:
  case KUN_TANH:
  case KUN_ELU:
  case KUN_EXP:
  case KUN_LOG:
    return 4;
  case KUN_GELU:
  case KUN_GELU_TANH:
    return 8;
  case KUN_SIN:
  case KUN_COS:
    return 16;
  default:
    return 1;
  }
}

static void unary(KernelUnary op, float alpha, const float *x, float *y, int64_t n, Pool *pool)
{
  Unary c = {.op = op, .alpha = alpha, .x = x, .dst = y};
  span_run(pool, n, unary_cost(op), unary_body, &c);
}

// g where the slope is 1; a NaN of v comes out.
static inline float gate(float v, int32_t open, float g)
{
  return vm_select(v == v, vm_select(open, g, 0), v);
}

static inline float leaky(float v, float g, float alpha)
{
  return vm_select(v == v, vm_select(v >= 0, g, alpha * g), v);
}

// f(x) = alpha x with alpha 0 gives -0 for x < 0: the sign bit tells.
static inline float leaky_sign(float y, float g)
{
  VmBits bits = {.f = y};
  return gate(y, bits.i >= 0, g);
}

static inline float abs_slope(float x, float g)
{
  return vm_select(x == x, vm_select(x > 0, g, vm_select(x < 0, -g, 0)), x);
}

// cdf(x) + x bell(x) / sqrt(2 pi), where the second term is 0 far out, also at infinity.
static inline float gelu_slope(float x)
{
  const float bell = vm_bell(x);
  return vm_normal_cdf(x, bell) + vm_clamp(x, -20, 20) * (BELL_HEIGHT * bell);
}

// With s = logistic(2 u) = (1 + tanh u) / 2: s + 2 x s (1 - s) u'.
static inline float gelu_tanh_slope(float x)
{
  const float v = vm_clamp(x, -20, 20), z = v * v;
  const float s = vm_logistic(2 * GELU_SCALE * (v + GELU_CUBE * v * z));
  return s + 2 * v * (s * (1.0f - s)) * (GELU_SCALE * (1.0f + 3 * GELU_CUBE * z));
}

static inline float hard_swish_slope(float x)
{
  return vm_select(x <= -3, 0, vm_select(x >= 3, 1, (2 * x + 3.0f) / 6.0f));
}

static void unary_grad_body(void *context, int64_t first, int64_t n)
{
  const Unary *c = context;
  const float *v = c->x ? c->x + first : NULL;
  const float *dy = c->dy + first, alpha = c->alpha;
  float *dx = c->dst + first;
  bool accumulate = c->accumulate;
  switch (c->op) {
  case KUN_RELU:
    ASSIGN(gate(v[i], v[i] > 0, dy[i]));
    break;
  case KUN_RELU6:
    ASSIGN(gate(v[i], (v[i] > 0) & (v[i] < 6), dy[i]));
    break;
  case KUN_RELU_N1_TO_1:
    ASSIGN(gate(v[i], (v[i] > -1) & (v[i] < 1), dy[i]));
    break;
  case KUN_RELU_0_TO_1:
    ASSIGN(gate(v[i], (v[i] > 0) & (v[i] < 1), dy[i]));
    break;
  case KUN_LOGISTIC:
    ASSIGN(dy[i] * (v[i] * (1.0f - v[i])));
    break;
  case KUN_TANH:
    ASSIGN(dy[i] * (1.0f - v[i] * v[i]));
    break;
  case KUN_LEAKY_RELU:
    if (alpha == 0)
      ASSIGN(leaky_sign(v[i], dy[i]));
    else
      ASSIGN(leaky(v[i], dy[i], alpha));
    break;
  case KUN_ELU:
    ASSIGN(vm_select(v[i] > 0, dy[i], dy[i] * (v[i] + 1.0f)));
    break;
  case KUN_GELU:
    ASSIGN(dy[i] * gelu_slope(v[i]));
    break;
  case KUN_GELU_TANH:
    ASSIGN(dy[i] * gelu_tanh_slope(v[i]));
    break;
  case KUN_HARD_SWISH:
    ASSIGN(dy[i] * hard_swish_slope(v[i]));
    break;
  case KUN_NEG:
    ASSIGN(-dy[i]);
    break;
  case KUN_ABS:
    ASSIGN(abs_slope(v[i], dy[i]));
    break;
  case KUN_SQUARE:
    ASSIGN(2 * (dy[i] * v[i]));
    break;
  case KUN_SQRT:
    ASSIGN(0.5f * dy[i] / v[i]);
    break;
  case KUN_RSQRT:
    ASSIGN(-0.5f * dy[i] * (v[i] * v[i] * v[i]));
    break;
  case KUN_EXP:
    ASSIGN(dy[i] * v[i]);
    break;
  case KUN_LOG:
    ASSIGN(dy[i] / v[i]);
    break;
  case KUN_SIN:
    ASSIGN(dy[i] * cosf(v[i]));
    break;
  case KUN_COS:
    ASSIGN(-dy[i] * sinf(v[i]));
    break;
  case KUN_FLOOR:
  case KUN_CEIL:
  case KUN_ROUND:
  case KUN_SIGN:
    if (!accumulate)
      LOOP(n, dx[i] = 0);
    break;
  }
}

static void unary_grad(KernelUnary op, float alpha, const float *v, const float *dy, float *dx,
                       bool accumulate, int64_t n, Pool *pool)
{
  Unary c = {.op = op, .alpha = alpha, .x = v, .dy = dy, .dst = dx, .accumulate = accumulate};
  // What is taken from y costs little.
  int64_t cost = unary_grad_reads(op, alpha) == KUN_READS_X ? unary_cost(op) : 1;
  span_run(pool, n, cost, unary_grad_body, &c);
}

static void scale_body(void *context, int64_t first, int64_t n)
{
  const Unary *c = context;
  const float *x = c->x + first, factor = c->alpha;
  float *dx = c->dst + first;
  bool accumulate = c->accumulate;
  ASSIGN(factor * x[i]);
}

static void scale(float factor, const float *x, float *y, bool accumulate, int64_t n, Pool *pool)
{
  Unary c = {.alpha = factor, .x = x, .dst = y, .accumulate = accumulate};
  span_run(pool, n, 1, scale_body, &c);
}

static void act_grad(KernelAct act, const float *y, const float *dy, float *dx, bool accumulate,
                     int64_t n, Pool *pool)
{
  static const KernelUnary same[] = {
    [KACT_RELU] = KUN_RELU,
    [KACT_RELU_N1_TO_1] = KUN_RELU_N1_TO_1,
    [KACT_RELU6] = KUN_RELU6,
    [KACT_TANH] = KUN_TANH,
  };
  if (act == KACT_NONE)
    scale(1, dy, dx, accumulate, n, pool);
  else
    unary_grad(same[act], 0, y, dy, dx, accumulate, n, pool);
}

#endif
