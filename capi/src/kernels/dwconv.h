// SPDX-License-Identifier: Apache-2.0
// Depthwise 2-D convolution, NHWC activations and filters [kh,kw,ic*mult]; output channel
// c*mult + q reads input channel c. Geometry as in conv.h.
#ifndef KERNELS_DWCONV_H
#define KERNELS_DWCONV_H

#include "kernels/kernel.h"

typedef struct {
  int32_t n, ih, iw, ic;
  int32_t oh, ow, mult;    // y[n,oh,ow,ic*mult]
  int32_t kh, kw, sh, sw, dh, dw, pt, pl;
  KernelAct act;           // forward only
} DwconvShape;

typedef struct {
  size_t (*forward_scratch)(const DwconvShape *s, int threads);
  void (*forward)(const DwconvShape *s, const float *x, const float *w, const float *bias, float *y,
                  void *scratch, Pool *pool);
  size_t (*input_grad_scratch)(const DwconvShape *s, int threads);
  void (*input_grad)(const DwconvShape *s, const float *dy, const float *w, float *dx,
                     bool accumulate, void *scratch, Pool *pool);
  size_t (*filter_grad_scratch)(const DwconvShape *s, int threads);
  void (*filter_grad)(const DwconvShape *s, const float *x, const float *dy, float *dw,
                      bool accumulate, void *scratch, Pool *pool);
} DwconvKernels;

const DwconvKernels *dwconv_kernels(void);
const DwconvKernels *dwconv_kernels_for(Isa isa);

#endif
