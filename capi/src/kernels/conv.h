// SPDX-License-Identifier: Apache-2.0
// 2-D convolution, NHWC activations and OHWI filters, in its three directions.
//
//   y[n,oy,ox,o] = sum over ky,kx,c of x[n, oy*sh + ky*dh - pt, ox*sw + kx*dw - pl, c] w[o,ky,kx,c]
//
// Groups: filter o reads channels (o / (oc/groups)) * (ic/groups) + c of x, c < ic/groups.
#ifndef KERNELS_CONV_H
#define KERNELS_CONV_H

#include "kernels/kernel.h"

typedef struct {
  int32_t n, ih, iw, ic;   // x[n,ih,iw,ic]
  int32_t oh, ow, oc;      // y[n,oh,ow,oc]
  int32_t kh, kw;          // w[oc,kh,kw,ic/groups]
  int32_t sh, sw, dh, dw;  // strides, dilations
  int32_t pt, pl;          // padding before the first row and column (after: as needed)
  int32_t groups;
  KernelAct act;           // forward, transpose: applied; input gradient: see its mask
  bool is_swapped;         // w, and with it dw, is [ic,kh,kw,oc]; in one group
  bool is_packed;          // w is what pack() has made of the filter for this direction
  bool is_piece;           // of a problem that the caller has cut up: not cut further, not through
                           // transforms that depend on where it begins; pool is NULL
} ConvShape;

typedef enum { CONV_FORWARD, CONV_INPUT_GRAD } ConvWay;

typedef struct {
  size_t (*forward_scratch)(const ConvShape *s, int threads);
  // Filters that several calls use can be laid out once, as the kernel wants them: packed_bytes (0:
  // as they are is best), aligned to 64.
  size_t (*packed_bytes)(const ConvShape *s, ConvWay way);
  void (*pack)(const ConvShape *s, ConvWay way, const float *w, void *packed);
  // y = act(convolution + bias + add); bias and add, of y's shape, may be NULL. add may be y.
  void (*forward)(const ConvShape *s, const float *x, const float *w, const float *bias,
                  const float *add, float *y, void *scratch, Pool *pool);
  // dx = (the convolution's transpose applied to dy, + add), and where `mask` is given times
  // act'(mask): x itself, when x is what that activation, a clamp, has made. add and mask have the
  // shape of dx and may be NULL; add may be dx itself.
  size_t (*input_grad_scratch)(const ConvShape *s, int threads);
  void (*input_grad)(const ConvShape *s, const float *dy, const float *w, const float *add,
                     const float *mask, float *dx, void *scratch, Pool *pool);
  // y = act(the convolution's transpose applied to x + bias[ic] + add), in the scratch of
  // input_grad: x has the shape of the convolution's result, y and add that of its operand.
  void (*transpose)(const ConvShape *s, const float *x, const float *w, const float *bias,
                    const float *add, float *y, void *scratch, Pool *pool);
  // dw (+)= sum over samples and positions of dy times x; db[oc] (NULL: not wanted) (+)= that of dy.
  size_t (*filter_grad_scratch)(const ConvShape *s, int threads);
  void (*filter_grad)(const ConvShape *s, const float *x, const float *dy, float *dw, float *db,
                      bool accumulate, void *scratch, Pool *pool);
} ConvKernels;

const ConvKernels *conv_kernels(void);
const ConvKernels *conv_kernels_for(Isa isa);

#endif
