// SPDX-License-Identifier: Apache-2.0
// Elementary functions in a form that compilers vectorise: no branches, no library calls, no
// integer conversions. Private to kernels/; NaN comes out as NaN.
#ifndef KERNELS_VMATH_H
#define KERNELS_VMATH_H

#include "kernels/kernel.h"

#include <math.h>

// Before a loop whose iterations are independent although dst and src may be the same pointer,
// which a run-time overlap test would send to scalar code.
#if defined(__clang__)
#define VM_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define VM_INDEPENDENT _Pragma("GCC ivdep")
#endif

typedef union {
  float f;
  int32_t i;
} VmBits;

// condition ? a : b, in bits. As a conditional expression the compiler would move operations into
// the branches, which must not be speculated as they may trap, and could not vectorise the loop.
static inline float vm_select(int32_t condition, float a, float b)
{
  VmBits x = {.f = a}, y = {.f = b};
  int32_t mask = -condition;
  VmBits r = {.i = (x.i & mask) | (y.i & ~mask)};
  return r.f;
}

static inline float vm_abs(float x)
{
  VmBits b = {.f = x};
  b.i &= 0x7FFFFFFF;
  return b.f;
}

// magnitude with its sign bit flipped where that of x is set
static inline float vm_sign(float magnitude, float x)
{
  VmBits r = {.f = magnitude}, s = {.f = x};
  r.i ^= s.i & INT32_MIN;
  return r.f;
}

static inline float vm_clamp(float x, float lo, float hi)
{
  x = vm_select(x < lo, lo, x);
  return vm_select(x > hi, hi, x);
}

// e^x, error below 2 ulp; infinity from 88.8 on, 0 below -104, subnormal numbers between.
// x = n ln 2 + r with |r| <= ln 2 / 2; e^r = 1 + r + r^2 q(r), q a minimax polynomial.
static inline float vm_exp(float x)
{
  const float round = 12582912.0f; // 1.5 * 2^23: adding it leaves an integer in the low bits
  x = vm_clamp(x, -104.0f, 89.0f);
  VmBits n = {.f = x * 1.44269504f + round};
  float nf = n.f - round;
  float r = x - nf * 0.693359375f + nf * 2.12194440e-4f;
  float q = 0.00138131448f;
  q = q * r + 0.00836941879f;
  q = q * r + 0.0416684560f;
  q = q * r + 0.166665152f;
  q = q * r + 0.499999940f;
  float e = q * (r * r) + r + 1.0f;
  // 2^n as a product of two halves: n lies in -150 .. 128, beyond what one exponent holds.
  int32_t k = n.i - 0x4B400000;
  int32_t half = k >> 1;
  VmBits lo = {.i = (int32_t)((uint32_t)(half + 127) << 23)};
  VmBits hi = {.i = (int32_t)((uint32_t)(k - half + 127) << 23)};
  return e * lo.f * hi.f;
}

// e^x - 1 for x <= 0, error below 2 ulp. Near 0 by the polynomial of vm_exp.
static inline float vm_expm1(float x)
{
  float q = 0.00138131448f;
  q = q * x + 0.00836941879f;
  q = q * x + 0.0416684560f;
  q = q * x + 0.166665152f;
  q = q * x + 0.499999940f;
  return vm_select(x < -0.346573591f, vm_exp(x) - 1.0f, q * x * x + x);
}

// ln x, error below 1 ulp; -infinity at 0, NaN below. x = 2^k m with m in sqrt(1/2) .. sqrt(2);
// with r = m - 1, ln m = r - r^2 / 2 + r^3 p(r), p a minimax polynomial.
static inline float vm_log(float x)
{
  const float tiny = 1.17549435e-38f; // below it numbers are subnormal
  const VmBits in = {.f = x * vm_select(x < tiny, 8388608.0f, 1.0f)};
  const uint32_t above = (uint32_t)in.i - 0x3F3504F3u;
  const VmBits m = {.i = (int32_t)((uint32_t)in.i - (above & 0xFF800000u))};
  const VmBits exponent = {.i = 0x4B400000 + ((int32_t)above >> 23)};
  const float k = exponent.f - 12582912.0f - vm_select(x < tiny, 23.0f, 0);
  const float r = m.f - 1.0f, z = r * r;
  float p = -0.0763449743f;
  p = p * r + 0.127615780f;
  p = p * r - 0.131601825f;
  p = p * r + 0.142017573f;
  p = p * r - 0.166233570f;
  p = p * r + 0.200012267f;
  p = p * r - 0.250008196f;
  p = p * r + 0.333333313f;
  const float y = k * 0.693359375f + (r + (r * z * p + k * -2.12194440e-4f - 0.5f * z));
  return vm_select(x > 0, vm_select(x < INFINITY, y, x),
                   vm_select(x == 0, -INFINITY, (x - x) / (x - x)));
}

// e^(-x^2 / 2), error below 2 ulp: x^2 is taken as a part that is exact in float, and the rest.
static inline float vm_bell(float x)
{
  const float t = vm_clamp(vm_abs(x), 0, 14.6f);
  VmBits h = {.f = t};
  h.i &= (int32_t)0xFFFFF000;
  const float u = 0.5f * (h.f - t) * (h.f + t);
  const float e = vm_exp(-0.5f * h.f * h.f);
  return e + e * (u * (1.0f + u * (0.5f + u * (0.166666672f + u * 0.0416666679f))));
}

// The normal distribution: probability of a number below x; bell = vm_bell(x). Error below 4 ulp
// on either side: the smaller tail is bell times a minimax polynomial in 1 / (1 + 0.3 |x|).
static inline float vm_normal_cdf(float x, float bell)
{
  const float w = 1.0f / (1.0f + 0.3f * vm_abs(x));
  float q = -0.0206248780f;
  q = q * w + 0.112443537f;
  q = q * w - 0.228232935f;
  q = q * w + 0.191811368f;
  q = q * w - 0.0794467852f;
  q = q * w + 0.0961699188f;
  q = q * w + 0.0783849061f;
  q = q * w + 0.110236496f;
  q = q * w + 0.119571678f;
  q = q * w + 0.119686700f;
  const float tail = bell * (q * w);
  return vm_select(x > 0, 1.0f - tail, tail);
}

// From e^-|x|, which cannot overflow.
static inline float vm_logistic(float x)
{
  float e = vm_exp(-vm_abs(x));
  float r = 1.0f / (1.0f + e);
  return vm_select(x < 0, e * r, r);
}

// Near 0: x + x^3 p(x^2), p a minimax polynomial on |x| <= 0.625; else 1 - 2 / (e^2|x| + 1).
static inline float vm_tanh(float x)
{
  float a = vm_abs(x);
  float z = x * x;
  float p = -0.00570498686f;
  p = p * z + 0.0206390880f;
  p = p * z - 0.0537397154f;
  p = p * z + 0.133314416f;
  p = p * z - 0.333332807f;
  float small = x + x * z * p;
  float large = 1.0f - 2.0f / (vm_exp(a + a) + 1.0f);
  return vm_select(a < 0.625f, small, vm_sign(large, x));
}

#define VM_APPLY(expression)                                                                       \
  do {                                                                                             \
    VM_INDEPENDENT                                                                                 \
    for (int64_t i = 0; i < n; ++i) {                                                              \
      float v = y[i];                                                                              \
      y[i] = (expression);                                                                         \
    }                                                                                              \
  } while (0)

// y = act(y)
static inline void vm_activate(KernelAct act, float *y, int64_t n)
{
  switch (act) {
  case KACT_NONE:
    break;
  case KACT_RELU:
    VM_APPLY(vm_select(v < 0, 0, v));
    break;
  case KACT_RELU_N1_TO_1:
    VM_APPLY(vm_clamp(v, -1, 1));
    break;
  case KACT_RELU6:
    VM_APPLY(vm_clamp(v, 0, 6));
    break;
  case KACT_TANH:
    VM_APPLY(vm_tanh(v));
    break;
  }
}

#endif
