// SPDX-License-Identifier: Apache-2.0
// Depthwise 2-D convolution: the interface of conv.h where every input channel has filters of its
// own. Filters are [kh,kw,oc]; output channel c*m + q reads input channel c, m = oc / ic. The field
// `groups` is not looked at.
#ifndef KERNELS_DWCONV_H
#define KERNELS_DWCONV_H

#include "kernels/conv.h"

// Output channels an input channel has; 0 without channels.
static inline int32_t dwconv_multiplier(const ConvShape *s)
{
  return s->ic ? s->oc / s->ic : 0;
}

const ConvKernels *dwconv_kernels(void);
const ConvKernels *dwconv_kernels_for(Isa isa);

#endif
