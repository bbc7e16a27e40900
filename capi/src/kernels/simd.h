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
#define SIMD_TILE_ROWS 7
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

// Past the caches; p is aligned to the vector. Before another thread reads the results, the writer
// calls simd_stream_end().
SIMD_INLINE void simd_stream(float *p, Vec v)
{
#if defined(__AVX512F__)
  _mm512_stream_ps(p, v);
#elif defined(__AVX2__)
  _mm256_stream_ps(p, v);
#else
  *(Vec *)(void *)p = v;
#endif
}

static inline void simd_stream_end(void)
{
#if defined(__AVX2__)
  _mm_sfence();
#endif
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

// g where lo < v < hi, else 0; a NaN of v comes out. With the bounds of a clamp this is its
// gradient, taken from its result v.
SIMD_INLINE Vec simd_gate(Vec v, Vec lo, Vec hi, Vec g)
{
  const VecMask is_open = (v > lo) & (v < hi), is_nan = v != v;
  return (Vec)(((VecMask)g & is_open) | ((VecMask)v & is_nan));
}

static inline float simd_gate1(float v, float lo, float hi, float g)
{
  return v != v ? v : v > lo && v < hi ? g : 0;
}

// dst[i][j] = src[j][i] for 4 x 4 elements; rows of src and dst are so far apart.
SIMD_INLINE void simd_transpose4(const float *src, int64_t src_step, float *dst, int64_t dst_step)
{
  typedef float Quad __attribute__((vector_size(16)));
  typedef float QuadMem __attribute__((vector_size(16), aligned(4), may_alias));
  Quad a = *(const QuadMem *)src, b = *(const QuadMem *)(src + src_step);
  Quad c = *(const QuadMem *)(src + 2 * src_step), d = *(const QuadMem *)(src + 3 * src_step);
  Quad ab_lo = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  Quad ab_hi = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  Quad cd_lo = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  Quad cd_hi = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  *(QuadMem *)dst = __builtin_shufflevector(ab_lo, cd_lo, 0, 1, 4, 5);
  *(QuadMem *)(dst + dst_step) = __builtin_shufflevector(ab_lo, cd_lo, 2, 3, 6, 7);
  *(QuadMem *)(dst + 2 * dst_step) = __builtin_shufflevector(ab_hi, cd_hi, 0, 1, 4, 5);
  *(QuadMem *)(dst + 3 * dst_step) = __builtin_shufflevector(ab_hi, cd_hi, 2, 3, 6, 7);
}

// Asks for n floats that will be read soon.
static inline void simd_prefetch(const float *p, int64_t n)
{
  for (int64_t i = 0; i < n; i += 16)
    __builtin_prefetch(p + i);
}

static inline void simd_copy(float *dst, const float *src, int64_t n)
{
  int64_t i = 0;
  for (; i + SIMD_LANES <= n; i += SIMD_LANES)
    simd_store(dst + i, simd_load(src + i));
  for (; i < n; ++i)
    dst[i] = src[i];
}

static inline void simd_zero(float *dst, int64_t n)
{
  int64_t i = 0;
  for (; i + SIMD_LANES <= n; i += SIMD_LANES)
    simd_store(dst + i, (Vec){0});
  for (; i < n; ++i)
    dst[i] = 0;
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
