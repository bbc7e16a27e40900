// SPDX-License-Identifier: Apache-2.0
// The vector of the instruction set that a template is compiled for, and the register tile that
// suits it, in the compiler's vector extensions. Private to kernels/.
#ifndef KERNELS_SIMD_H
#define KERNELS_SIMD_H

#include "kernels/vmath.h"

#include <math.h>
#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

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



// v < lo ? lo : v > hi ? hi : v, lane by lane: NaN stays NaN.
SIMD_INLINE Vec simd_clamp(Vec v, Vec lo, Vec hi)
{
#if defined(__AVX512F__)
  return _mm512_min_ps(hi, _mm512_max_ps(lo, v));
#elif defined(__AVX2__)
  return _mm256_min_ps(hi, _mm256_max_ps(lo, v));
#elif defined(__aarch64__)
  return vminq_f32(hi, vmaxq_f32(lo, v));
#else
  VecMask below = v < lo;
  v = (Vec)((below & (VecMask)lo) | (~below & (VecMask)v));
  VecMask above = v > hi;
  return (Vec)((above & (VecMask)hi) | (~above & (VecMask)v));
#endif
}

// Bounds of an activation that is a clamp; others (none, tanh) have infinite ones.
static inline float simd_act_lo(KernelAct act)
{
  return act == KACT_RELU || act == KACT_RELU6 ? 0 : act == KACT_RELU_N1_TO_1 ? -1 : -INFINITY;
}

static inline float simd_act_hi(KernelAct act)
{
  return act == KACT_RELU6 ? 6 : act == KACT_RELU_N1_TO_1 ? 1 : INFINITY;
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
