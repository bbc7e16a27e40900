// SPDX-License-Identifier: Apache-2.0
// float16 as bits, for compilers and machines that do not have the type. Private to kernels/.
#ifndef KERNELS_HALF_H
#define KERNELS_HALF_H

#include "kernels/vmath.h"

static inline float half_to_float(uint16_t h)
{
  const int32_t sign = (int32_t)((uint32_t)(h & 0x8000) << 16), magnitude = h & 0x7FFF;
  VmBits r = {.i = (magnitude << 13) + ((127 - 15) << 23)};
  if (magnitude >= 0x7C00) // infinity, NaN
    r.i = (magnitude << 13) | 0x7F800000;
  else if (magnitude < 0x0400) // subnormal
    r.f = (float)magnitude * 5.96046448e-8f;
  r.i |= sign;
  return r.f;
}

// To nearest, ties to even; infinity from 65520 on.
static inline uint16_t half_from_float(float x)
{
  VmBits b = {.f = x};
  const uint32_t sign = ((uint32_t)b.i >> 16) & 0x8000;
  uint32_t magnitude = (uint32_t)b.i & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) // NaN
    return (uint16_t)(sign | 0x7E00 | ((magnitude >> 13) & 0x3FF));
  if (magnitude >= 0x477FF000)
    return (uint16_t)(sign | 0x7C00);
  if (magnitude < 0x38800000) { // subnormal: the last place of 0.5f is that of the result
    b.i = (int32_t)magnitude;
    b.f += 0.5f;
    return (uint16_t)(sign | ((uint32_t)b.i - 0x3F000000));
  }
  magnitude += 0xC8000FFF + ((magnitude >> 13) & 1); // exponent - 112, and rounding
  return (uint16_t)(sign | magnitude >> 13);
}

#endif
