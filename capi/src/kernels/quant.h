// SPDX-License-Identifier: Apache-2.0
// Between quantized integers and the reals they stand for: real = scale * (q - zero).
//
// Elements come in runs of `run`; run r has the scale and zero of channel r % channels. One scale
// for all is one channel.
#ifndef KERNELS_QUANT_H
#define KERNELS_QUANT_H

#include "kernels/typed.h"

typedef struct {
  int32_t channels;
  int64_t run;
  const float *scale;
  const int64_t *zero;
} QuantScale;

// Whether quant_to_real takes that type: int8, uint8, int16, int32, int64.
bool quant_is_read(KernelType type);
// Whether quant_from_real makes it: int8, uint8, int16; the range is then *low .. *high.
bool quant_is_made(KernelType type, int32_t *low, int32_t *high);

void quant_to_real(KernelType from, const QuantScale *s, const void *x, float *y, int64_t n,
                   Pool *pool);
// Rounds halves away from 0 and saturates; NaN becomes the low end. Scales are above 0, zeros are
// in the range of the type.
void quant_from_real(KernelType to, const QuantScale *s, const float *x, void *y, int64_t n,
                     Pool *pool);

#endif
