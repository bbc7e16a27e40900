// SPDX-License-Identifier: Apache-2.0
// Checks of the element-wise kernels: values, special values, gradient masks, broadcasting, dst the
// same as a source, any thread count.
#include "checkkern.h"

#include "kernels/eltwise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_N = 70000 };

static const float specials[] = {0.0f, -0.0f, 1, -1, 6, 5.9999995f, -0.99999994f, 0.625f, 1e-30f,
                                 -1e-30f, 1e-42f, 88.7f, -88.7f, -103.0f, 200, -200, 3e38f,
                                 INFINITY, -INFINITY, NAN};
enum { N_SPECIALS = sizeof specials / sizeof *specials };

static float *input_with_specials(Check *c, int64_t n, float lo, float hi)
{
  float *x = check_input(c, n, lo, hi);
  for (int64_t i = 0; i < n; ++i)
    if (check_int(c, 0, 9) == 0)
      x[i] = specials[check_int(c, 0, N_SPECIALS - 1)];
  check_input_changed(c, x);
  return x;
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

static double apply_binary(KernelBinary op, double a, double b)
{
  switch (op) {
  case KBIN_ADD:
    return a + b;
  case KBIN_SUB:
    return a - b;
  case KBIN_MUL:
    return a * b;
  case KBIN_DIV:
    return a / b;
  case KBIN_MAXIMUM:
    return isnan(a) || isnan(b) ? NAN : fmax(a, b);
  case KBIN_MINIMUM:
    return isnan(a) || isnan(b) ? NAN : fmin(a, b);
  case KBIN_SQUARED_DIFFERENCE:
    return (double)(float)(a - b) * (double)(float)(a - b);
  case KBIN_POW:
    return pow(a, b);
  case KBIN_FLOOR_DIV:
    return floor((float)(a / b));
  case KBIN_FLOOR_MOD: {
    const double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? (float)(r + b) : r;
  }
  case KBIN_ATAN2:
    return atan2(a, b);
  default:
    return a >= 0 ? a : a * b;
  }
}

// Slope of a op b by a, or by b.
static double binary_slope(KernelBinary op, bool second, double a, double b)
{
  const double larger = isnan(a) || isnan(b) ? NAN : a > b ? 1 : a == b ? 0.5 : 0;
  switch (op) {
  case KBIN_MAXIMUM:
    return second ? 1 - larger : larger;
  case KBIN_MINIMUM:
    return second ? larger : 1 - larger;
  case KBIN_SQUARED_DIFFERENCE:
    return second ? 2 * (b - a) : 2 * (a - b);
  case KBIN_POW:
    if (second)
      return a <= 0 ? 0 : pow(a, b) * log(a);
    return b == 0 ? 0 : b * pow(a, b - 1);
  case KBIN_FLOOR_MOD:
    return -floor((float)(a / b));
  case KBIN_ATAN2:
    return (second ? -a : b) / (a * a + b * b);
  default:
    if (second)
      return a >= 0 ? 0 : a;
    return isnan(a) ? a : a >= 0 ? 1 : b;
  }
}

static double cdf(double x)
{
  return 0.5 * erfc(-x * sqrt(0.5));
}

static double gelu_tanh_logistic(double x)
{
  return 1 / (1 + exp(-2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double apply_unary(KernelUnary op, double alpha, double x)
{
  switch (op) {
  case KUN_RELU:
    return activate(KACT_RELU, x);
  case KUN_RELU6:
    return activate(KACT_RELU6, x);
  case KUN_RELU_N1_TO_1:
    return activate(KACT_RELU_N1_TO_1, x);
  case KUN_RELU_0_TO_1:
    return x < 0 ? 0 : x > 1 ? 1 : x;
  case KUN_LOGISTIC:
    return 1 / (1 + exp(-x));
  case KUN_TANH:
    return tanh(x);
  case KUN_LEAKY_RELU:
    return x >= 0 ? x : alpha * x;
  case KUN_ELU:
    return x > 0 ? x : expm1(x);
  case KUN_GELU:
    return x * cdf(x);
  case KUN_GELU_TANH:
    return x * gelu_tanh_logistic(x);
  case KUN_HARD_SWISH:
    return x * fmin(fmax((float)(x + 3), 0), 6) / 6;
  case KUN_ABS:
    return fabs(x);
  case KUN_SQUARE:
    return x * x;
  case KUN_SQRT:
    return sqrt(x);
  case KUN_RSQRT:
    return 1 / sqrt(x);
  case KUN_EXP:
    return exp(x);
  case KUN_LOG:
    return log(x);
  case KUN_SIN:
    return sin(x);
  case KUN_COS:
    return cos(x);
  case KUN_FLOOR:
    return floor(x);
  case KUN_CEIL:
    return ceil(x);
  case KUN_ROUND:
    return rint(x);
  case KUN_SIGN:
    return x > 0 ? 1 : x < 0 ? -1 : x;
  default:
    return -x;
  }
}

// f'(x) from the float y = f(x) where the kernels take it from there.
static double slope(KernelUnary op, double alpha, double x, double y)
{
  const double v = unary_grad_reads(op, (float)alpha) == KUN_READS_X ? x : y;
  if (isnan(v) && unary_grad_reads(op, (float)alpha) != KUN_READS_NOTHING)
    return v;
  switch (op) {
  case KUN_RELU:
    return y > 0;
  case KUN_RELU6:
    return y > 0 && y < 6;
  case KUN_RELU_N1_TO_1:
    return y > -1 && y < 1;
  case KUN_RELU_0_TO_1:
    return y > 0 && y < 1;
  case KUN_LOGISTIC:
    return y * (1 - y);
  case KUN_TANH:
    return 1 - y * y;
  case KUN_LEAKY_RELU:
    return x >= 0 ? 1 : alpha;
  case KUN_ELU:
    return y > 0 ? 1 : y + 1;
  case KUN_GELU:
    return cdf(x) + (fabs(x) > 40 ? 0 : x * exp(-x * x / 2) / sqrt(2 * M_PI));
  case KUN_GELU_TANH: {
    const double s = gelu_tanh_logistic(x);
    return fabs(x) > 40 ? s
                        : s + 2 * x * s * (1 - s) * sqrt(2 / M_PI) * (1 + 0.134145 * x * x);
  }
  case KUN_HARD_SWISH:
    return x <= -3 ? 0 : x >= 3 ? 1 : (2 * x + 3) / 6;
  case KUN_ABS:
    return x > 0 ? 1 : x < 0 ? -1 : 0;
  case KUN_SQUARE:
    return 2 * x;
  case KUN_SQRT:
    return 0.5 / y;
  case KUN_RSQRT:
    return -0.5 * (float)((float)(y * y) * y);
  case KUN_EXP:
    return y;
  case KUN_LOG:
    return 1 / x;
  case KUN_SIN:
    return cos(x);
  case KUN_COS:
    return -sin(x);
  case KUN_NEG:
    return -1;
  default:
    return 0;
  }
}

static bool is_mask(KernelUnary op)
{
  return op <= KUN_RELU_0_TO_1 || op == KUN_LEAKY_RELU || op == KUN_ABS || op >= KUN_FLOOR;
}

static double tolerance(KernelUnary op)
{
  return op == KUN_GELU || op == KUN_GELU_TANH ? 2e-6 : 4e-7;
}

// What errors of y = f(x) are relative to. Subnormal results may be 0; the tail of GELU_TANH has
// the error of an exponent that grows with x^3.
static double size_of(KernelUnary op, double x, double y)
{
  const double grows = op == KUN_GELU_TANH && isfinite(y) ? 1 + fmin(x * x, 100) : 1;
  return fmax(fabs(y), 1.2e-38) * grows;
}

static bool cancels(KernelUnary op)
{
  return op == KUN_TANH || op == KUN_ELU || op == KUN_GELU || op == KUN_GELU_TANH ||
         op == KUN_HARD_SWISH;
}

// A masked gradient is selected, not multiplied: an infinite dy under slope 0 gives 0.
static double chain(KernelUnary op, double s, double dy)
{
  return is_mask(op) && s == 0 ? 0 : is_mask(op) && isnan(s) ? s : s * dy;
}

// A float operation on doubles of floats, rounded once; the activation sees the rounded result, so
// the reference rounds in between as well.
static void check_binary(Check *c, const EltwiseKernels *k)
{
  for (int round = 0; round < c->rounds; ++round) {
    int64_t n = check_size(c, 0, MAX_N);
    KernelBinary op = (KernelBinary)check_int(c, KBIN_ADD, KBIN_COUNT - 1);
    KernelAct act = (KernelAct)check_int(c, KACT_NONE, KACT_TANH);
    check_case(c, "binary op %d act %d n %lld", op, act, (long long)n);
    float *a = input_with_specials(c, n, -4, 4), *b = input_with_specials(c, n, -4, 4);
    double *want = check_doubles(c, n), *magnitude = check_doubles(c, n);
    for (int64_t i = 0; i < n; ++i) {
      want[i] = activate(act, (float)apply_binary(op, a[i], b[i]));
      magnitude[i] = fmax(fabs(want[i]), 1.2e-38);
    }
    float *first = NULL;
    for (int p = 0; p < CHECK_POOLS; ++p) {
      bool same_as_a = p == 1, same_as_b = p == 2;
      float *y = check_output(c, n, same_as_a ? a : same_as_b ? b : NULL);
      k->binary(op, act, same_as_a ? y : a, same_as_b ? y : b, y, n, check_pool(c, p));
      if (p == 0)
        check_near(c, "y", first = y, want, magnitude, n, act == KACT_TANH ? 1e-6 : 2e-7);
      else
        check_bits(c, "y on more threads", y, first, (size_t)n * sizeof *y);
    }
  }
}

// Random dimensions and, per operand, which of them repeat; at times transposed strides.
static BroadcastShape random_shape(Check *c, int64_t *a_n, int64_t *b_n, int64_t *n)
{
  BroadcastShape s = {.rank = (int32_t)check_int(c, 0, 5)};
  int64_t limit = 60000;
  *n = *a_n = *b_n = 1;
  bool mixed = check_int(c, 0, 1);
  int kind = (int)check_int(c, 0, 3);
  for (int32_t i = s.rank - 1; i >= 0; --i) {
    s.dim[i] = check_int(c, 0, 40) == 0 ? 0 : check_size(c, 1, 100);
    if (*n * s.dim[i] > limit)
      s.dim[i] = 1;
    if (mixed)
      kind = (int)check_int(c, 0, 3);
    s.a_stride[i] = kind == 1 ? 0 : *a_n;
    s.b_stride[i] = kind == 2 ? 0 : *b_n;
    *n *= s.dim[i];
    *a_n *= kind == 1 ? 1 : s.dim[i];
    *b_n *= kind == 2 ? 1 : s.dim[i];
    if (kind == 3)
      kind = 0;
  }
  if (s.rank >= 2 && check_int(c, 0, 5) == 0) {
    int64_t t = s.a_stride[0];
    if (s.dim[0] == s.dim[1]) {
      s.a_stride[0] = s.a_stride[1];
      s.a_stride[1] = t;
    }
  }
  return s;
}

// The shapes that models have: a bias over the last axis and over channels of NCHW, a scalar.
static BroadcastShape usual_shape(Check *c, int64_t *a_n, int64_t *b_n, int64_t *n)
{
  BroadcastShape s = {0};
  int64_t rows = check_size(c, 1, 4000), width = check_size(c, 1, 70), planes = check_size(c, 1, 9);
  bool swap = check_int(c, 0, 1);
  int64_t *dense = swap ? s.b_stride : s.a_stride, *repeated = swap ? s.a_stride : s.b_stride;
  s.rank = 3;
  s.dim[0] = planes, s.dim[1] = rows, s.dim[2] = width;
  dense[0] = rows * width, dense[1] = width, dense[2] = 1;
  *n = planes * rows * width;
  int64_t small = 1;
  switch (check_int(c, 0, 2)) {
  case 0:
    repeated[2] = 1;
    small = width;
    break;
  case 1:
    repeated[1] = 1;
    small = rows;
    break;
  default:
    break;
  }
  *a_n = swap ? small : *n;
  *b_n = swap ? *n : small;
  return s;
}

static void check_broadcast(Check *c, const EltwiseKernels *k)
{
  for (int round = 0; round < 2 * c->rounds; ++round) {
    int64_t a_n, b_n, n;
    BroadcastShape s = round % 2 ? usual_shape(c, &a_n, &b_n, &n) : random_shape(c, &a_n, &b_n, &n);
    KernelBinary op = (KernelBinary)check_int(c, KBIN_ADD, KBIN_COUNT - 1);
    KernelAct act = (KernelAct)check_int(c, KACT_NONE, KACT_TANH);
    char text[120] = "";
    for (int32_t i = 0; i < s.rank; ++i)
      snprintf(text + strlen(text), sizeof text - strlen(text), " %lld:%lld:%lld",
               (long long)s.dim[i], (long long)s.a_stride[i], (long long)s.b_stride[i]);
    check_case(c, "binary_broadcast op %d act %d dim:a:b%s", op, act, text);
    float *a = check_input(c, a_n, -4, 4), *b = check_input(c, b_n, -4, 4);
    double *want = check_doubles(c, n), *magnitude = check_doubles(c, n);
    bool second = check_int(c, 0, 1), accumulate = check_int(c, 0, 1);
    bool differentiate = op > KBIN_DIV && op != KBIN_FLOOR_DIV && (op != KBIN_FLOOR_MOD || second);
    float *dy = check_input(c, n, -2, 2), *old = check_input(c, n, -2, 2);
    double *want_d = check_doubles(c, n), *magnitude_d = check_doubles(c, n);
    int64_t index[ELT_MAX_RANK] = {0};
    for (int64_t i = 0; i < n; ++i) {
      int64_t at_a = 0, at_b = 0;
      for (int32_t d = 0; d < s.rank; ++d) {
        at_a += index[d] * s.a_stride[d];
        at_b += index[d] * s.b_stride[d];
      }
      want[i] = activate(act, (float)apply_binary(op, a[at_a], b[at_b]));
      magnitude[i] = fmax(fabs(want[i]), 1.2e-38);
      double d = differentiate ? dy[i] * binary_slope(op, second, a[at_a], b[at_b]) : 0;
      want_d[i] = d + (accumulate ? old[i] : 0);
      magnitude_d[i] = isfinite(want_d[i]) ? fabs(d) + fabs(old[i]) + 1e-38 : 1;
      for (int32_t e = s.rank - 1; e >= 0 && ++index[e] == s.dim[e]; --e)
        index[e] = 0;
    }
    float *first = NULL, *first_d = NULL;
    for (int p = 0; p < CHECK_POOLS; ++p) {
      float *y = check_output(c, n, NULL);
      k->binary_broadcast(op, act, &s, a, b, y, check_pool(c, p));
      if (p == 0)
        check_near(c, "y", first = y, want, magnitude, n, act == KACT_TANH ? 1e-6 : 2e-7);
      else
        check_bits(c, "y on more threads", y, first, (size_t)n * sizeof *y);
      if (!differentiate)
        continue;
      float *d = check_output(c, n, accumulate ? old : p == 1 ? dy : NULL);
      k->binary_grad(op, second, &s, a, b, p == 1 && !accumulate ? d : dy, d, accumulate,
                     check_pool(c, p));
      if (p == 0)
        check_near(c, "d", first_d = d, want_d, magnitude_d, n, 6e-7);
      else
        check_bits(c, "d on more threads", d, first_d, (size_t)n * sizeof *d);
    }
  }
}

static float random_alpha(Check *c)
{
  static const float some[] = {0.2f, 0.01f, 0, -0.5f, 1};
  return some[check_int(c, 0, 4)];
}

static void check_unary(Check *c, const EltwiseKernels *k)
{
  for (int round = 0; round < 2 * c->rounds; ++round) {
    int64_t n = check_size(c, 0, MAX_N);
    KernelUnary op = (KernelUnary)check_int(c, KUN_RELU, KUN_SIGN);
    float alpha = random_alpha(c), range = (float)check_int(c, 1, 12);
    check_case(c, "unary op %d alpha %g n %lld", op, (double)alpha, (long long)n);
    float *x = input_with_specials(c, n, -range, range);
    double *want = check_doubles(c, n), *magnitude = check_doubles(c, n);
    for (int64_t i = 0; i < n; ++i) {
      want[i] = apply_unary(op, alpha, x[i]);
      magnitude[i] = size_of(op, x[i], want[i]);
    }
    float *first = NULL;
    for (int p = 0; p < CHECK_POOLS; ++p) {
      float *y = check_output(c, n, p == 1 ? x : NULL);
      k->unary(op, alpha, p == 1 ? y : x, y, n, check_pool(c, p));
      if (p == 0)
        check_near(c, "y", first = y, want, magnitude, n, tolerance(op));
      else
        check_bits(c, "y on more threads", y, first, (size_t)n * sizeof *y);
    }

    bool accumulate = check_int(c, 0, 1);
    KernelUnaryReads reads = unary_grad_reads(op, alpha);
    check_case(c, "unary_grad op %d alpha %g n %lld accumulate %d", op, (double)alpha,
               (long long)n, accumulate);
    x = input_with_specials(c, n, -range, range);
    for (int64_t i = 0; i < n; ++i)
      if (op == KUN_LEAKY_RELU && x[i] == 0)
        x[i] = 0; // the sign of a zero cannot be told from y where alpha is 0
    check_input_changed(c, x);
    float *dy = input_with_specials(c, n, -2, 2), *old = check_input(c, n, -2, 2);
    for (int64_t i = 0; i < n; ++i)
      if (cancels(op) && isinf(dy[i]))
        dy[i] = 1; // far out it depends on the last bit whether the slope is 0
    check_input_changed(c, dy);
    float *y = check_output(c, n, NULL);
    k->unary(op, alpha, x, y, n, NULL);
    want = check_doubles(c, n), magnitude = check_doubles(c, n);
    for (int64_t i = 0; i < n; ++i) {
      double g = chain(op, slope(op, alpha, x[i], y[i]), dy[i]);
      want[i] = g + (accumulate ? old[i] : 0);
      magnitude[i] = fabs(cancels(op) ? dy[i] : g) + fabs(old[i]) + 1e-38;
      if (isinf(g) || isnan(g))
        magnitude[i] = 1;
    }
    for (int p = 0; p < CHECK_POOLS; ++p) {
      float *dx = check_output(c, n, accumulate ? old : p == 1 ? dy : NULL);
      k->unary_grad(op, alpha, reads == KUN_READS_X ? x : reads == KUN_READS_Y ? y : NULL,
                    p == 1 && !accumulate ? dx : dy, dx, accumulate, n, check_pool(c, p));
      if (p == 0)
        check_near(c, "dx", first = dx, want, magnitude, n, tolerance(op));
      else
        check_bits(c, "dx on more threads", dx, first, (size_t)n * sizeof *dx);
    }
  }
}

static void check_act_grad(Check *c, const EltwiseKernels *k)
{
  static const KernelUnary same[] = {
    [KACT_RELU] = KUN_RELU, [KACT_RELU_N1_TO_1] = KUN_RELU_N1_TO_1,
    [KACT_RELU6] = KUN_RELU6, [KACT_TANH] = KUN_TANH,
  };
  for (int round = 0; round < c->rounds; ++round) {
    int64_t n = check_size(c, 0, MAX_N);
    KernelAct act = (KernelAct)check_int(c, KACT_NONE, KACT_TANH);
    bool accumulate = check_int(c, 0, 1);
    float factor = check_float(c, -3, 3);
    check_case(c, "act_grad %d, scale %g, n %lld accumulate %d", act, (double)factor, (long long)n,
               accumulate);
    float *y = check_input(c, n, -2, 8), *dy = check_input(c, n, -2, 2);
    float *old = check_input(c, n, -2, 2);
    double *want = check_doubles(c, n), *scaled = check_doubles(c, n);
    double *magnitude = check_doubles(c, n);
    for (int64_t i = 0; i < n; ++i) {
      y[i] = (float)activate(act, y[i]);
      double base = accumulate ? old[i] : 0;
      double g = act == KACT_NONE ? dy[i] : chain(same[act], slope(same[act], 0, 0, y[i]), dy[i]);
      want[i] = base + g;
      scaled[i] = base + (double)factor * dy[i];
      magnitude[i] = fabs(base) + 3 * fabs(dy[i]);
    }
    check_input_changed(c, y);
    float *first = NULL, *first_scaled = NULL;
    for (int p = 0; p < CHECK_POOLS; ++p) {
      float *dx = check_output(c, n, accumulate ? old : NULL);
      float *z = check_output(c, n, accumulate ? old : NULL);
      k->act_grad(act, y, dy, dx, accumulate, n, check_pool(c, p));
      k->scale(factor, dy, z, accumulate, n, check_pool(c, p));
      if (p == 0) {
        check_near(c, "dx", first = dx, want, magnitude, n, 2e-7);
        check_near(c, "scaled", first_scaled = z, scaled, magnitude, n, 2e-7);
      } else {
        check_bits(c, "dx on more threads", dx, first, (size_t)n * sizeof *dx);
        check_bits(c, "scaled on more threads", z, first_scaled, (size_t)n * sizeof *z);
      }
    }
  }
}

// Accuracy of the elementary functions, over the whole range of floats.
static void check_functions(Check *c, const EltwiseKernels *k)
{
  enum { STEP = 4096 };
  static const KernelUnary ops[] = {KUN_LOGISTIC, KUN_TANH, KUN_ELU,  KUN_GELU, KUN_GELU_TANH,
                                    KUN_EXP,      KUN_LOG,  KUN_SQRT, KUN_RSQRT};
  for (size_t o = 0; o < sizeof ops / sizeof *ops; ++o) {
    for (uint64_t start = 0; start < 0x100000000u; start += (uint64_t)STEP * 20011) {
      check_case(c, "unary op %d over bit patterns from %llx", ops[o], (unsigned long long)start);
      float *x = check_input(c, STEP, 0, 1), *y = check_output(c, STEP, NULL);
      double *want = check_doubles(c, STEP), *magnitude = check_doubles(c, STEP);
      for (int i = 0; i < STEP; ++i) {
        uint32_t bits = (uint32_t)(start + (uint64_t)i * 20011);
        memcpy(&x[i], &bits, sizeof bits);
        want[i] = apply_unary(ops[o], 0, x[i]);
        magnitude[i] = size_of(ops[o], x[i], want[i]);
      }
      check_input_changed(c, x);
      k->unary(ops[o], 0, x, y, STEP, NULL);
      check_near(c, "y", y, want, magnitude, STEP, tolerance(ops[o]));
    }
  }
}

static void bench(Check *c, const EltwiseKernels *k)
{
  const int64_t n = 32 * 56 * 56 * 24, rows = n / 24;
  check_case(c, "bench");
  float *a = check_input(c, n, -1, 7), *b = check_input(c, n, -1, 1), *y = check_output(c, n, a);
  const double bytes = 4.0 * (double)n;
  for (int p = 0; p < 2; ++p) {
    Pool *pool = check_pool(c, p);
    CheckBench t = {0};
    while (check_bench_next(&t))
      k->binary(KBIN_ADD, KACT_RELU, a, b, y, n, pool);
    check_bench_report(c, &t, 0, 3 * bytes, "add+relu 2.4M, %d threads", p + 1);
    t = (CheckBench){0};
    BroadcastShape s = {2, {rows, 24}, {24, 1}, {0, 1}, {0}};
    while (check_bench_next(&t))
      k->binary_broadcast(KBIN_ADD, KACT_RELU6, &s, a, b, y, pool);
    check_bench_report(c, &t, 0, 2 * bytes, "bias [24] + relu6 2.4M, %d threads", p + 1);
    for (KernelUnary op = KUN_RELU; op <= KUN_SIGN; ++op) {
      t = (CheckBench){0};
      while (check_bench_next(&t))
        k->unary(op, 0.1f, a, y, n, pool);
      check_bench_report(c, &t, 0, 2 * bytes, "unary op %d 2.4M, %d threads", op, p + 1);
    }
    t = (CheckBench){0};
    while (check_bench_next(&t))
      k->act_grad(KACT_RELU6, a, b, y, false, n, pool);
    check_bench_report(c, &t, 0, 3 * bytes, "act_grad relu6 2.4M, %d threads", p + 1);
  }
}

void check_eltwise(Check *c)
{
  const EltwiseKernels *k = eltwise_kernels_for(c->isa);
  if (!k)
    return;
  check_binary(c, k);
  check_broadcast(c, k);
  check_unary(c, k);
  check_act_grad(c, k);
  check_functions(c, k);
  if (c->bench)
    bench(c, k);
}
