// SPDX-License-Identifier: Apache-2.0
// The vector of the instruction set that a template is compiled for, and the register tile that
// suits it, in the compiler's vector extensions. Private to kernels/.
#ifndef KERNELS_SIMD_H
#define KERNELS_SIMD_H

#include "kernels/vmath.h"

#include <string.h>

// SIMD_TILE_ROWS x (SIMD_TILE_VECTORS * SIMD_LANES): largest tile of a matrix product whose
// accumulators, one row of B and a broadcast element of A stay in registers.
#if defined(__AVX512F__)
#define SIMD_LANES 16
#define SIMD_TILE_ROWS 14
#define SIMD_TILE_VECTORS 2
#elif defined(__AVX2__)
#define SIMD_LANES 8
#define SIMD_TILE_ROWS 6
#define SIMD_TILE_VECTORS 2
#elif defined(__aarch64__)
#define SIMD_LANES 4
#define SIMD_TILE_ROWS 8
#define SIMD_TILE_VECTORS 3
#else
#define SIMD_LANES 4
#define SIMD_TILE_ROWS 4
#define SIMD_TILE_VECTORS 2
#endif

typedef float Vec __attribute__((vector_size(4 * SIMD_LANES)));
typedef int32_t VecMask __attribute__((vector_size(4 * SIMD_LANES)));
// In memory: aligned to its elements only.
typedef float VecMem __attribute__((vector_size(4 * SIMD_LANES), aligned(4), may_alias));

#define SIMD_INLINE static inline __attribute__((always_inline))
// Before a loop over registers: its bounds are constants once the function is inlined.
#define SIMD_UNROLL _Pragma("GCC unroll 16")

SIMD_INLINE Vec simd_load(const float *p)
{
  return *(const VecMem *)p;
}

SIMD_INLINE void simd_store(float *p, Vec v)
{
  *(VecMem *)p = v;
}

SIMD_INLINE Vec simd_splat(float x)
{
  return x - (Vec){0};
}

// n < SIMD_LANES elements, zeros behind them.
SIMD_INLINE Vec simd_load_part(const float *p, int n)
{
  union {
    Vec v;
    float f[SIMD_LANES];
  } u = {.v = {0}};
  for (int i = 0; i < n; ++i)
    u.f[i] = p[i];
  return u.v;
}

SIMD_INLINE void simd_store_part(float *p, Vec v, int n)
{
  union {
    Vec v;
    float f[SIMD_LANES];
  } u = {.v = v};
  for (int i = 0; i < n; ++i)
    p[i] = u.f[i];
}

// condition ? a : b, lane by lane
SIMD_INLINE Vec simd_select(VecMask condition, Vec a, Vec b)
{
  return (Vec)((condition & (VecMask)a) | (~condition & (VecMask)b));
}

// Written so that NaN stays NaN.
SIMD_INLINE Vec simd_clamp(Vec v, float lo, float hi)
{
  Vec l = simd_splat(lo), h = simd_splat(hi);
  v = simd_select(v < l, l, v);
  return simd_select(v > h, h, v);
}

SIMD_INLINE Vec simd_activate(KernelAct act, Vec v)
{
  switch (act) {
  case KACT_NONE:
    break;
  case KACT_RELU:
    v = (Vec)((VecMask)v & ~(v < (Vec){0}));
    break;
  case KACT_RELU_N1_TO_1:
    v = simd_clamp(v, -1, 1);
    break;
  case KACT_RELU6:
    v = simd_clamp(v, 0, 6);
    break;
  case KACT_TANH: {
    union {
      Vec v;
      float f[SIMD_LANES];
    } u = {.v = v};
    vm_activate(KACT_TANH, u.f, SIMD_LANES);
    v = u.v;
    break;
  }
  }
  return v;
}

// Sum of the lanes, in a fixed order.
SIMD_INLINE float simd_sum(Vec v)
{
  union {
    Vec v;
    float f[SIMD_LANES];
  } u = {.v = v};
  for (int half = SIMD_LANES / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i)
      u.f[i] += u.f[i + half];
  return u.f[0];
}

#endif
