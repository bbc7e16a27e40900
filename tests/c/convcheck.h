// SPDX-License-Identifier: Apache-2.0
// What the checks of dense and depthwise convolution share: one random case in all three
// directions, with everything that a kernel can do to its results, against sums in double precision.
#ifndef CONVCHECK_H
#define CONVCHECK_H

#include "checkkern.h"

#include "kernels/conv.h"

// Values, and the sums of their terms' absolute values.
typedef struct {
  const float *x, *w, *dy;
  double *y, *dx, *dw, *y_size, *dx_size, *dw_size;
} ConvReference;

// Adds all terms of output (n, oy, ox, o): to its sum, and its shares of both gradients.
typedef void (*ConvTerms)(const ConvShape *s, int64_t n, int64_t oy, int64_t ox, int64_t o,
                          const ConvReference *r);

// One term x[in] * w[at] of y[out].
void convcheck_term(const ConvReference *r, int64_t in, int64_t at, int64_t out);
// All directions of one shape, whose filter has n_w elements.
void convcheck_shape(Check *c, const ConvKernels *k, const ConvShape *s, int64_t n_w,
                     ConvTerms terms);

#endif
