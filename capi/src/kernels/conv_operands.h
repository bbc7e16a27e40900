// SPDX-License-Identifier: Apache-2.0
// What a convolution's forward pass or input gradient reads and writes. Private to conv_tmpl.c.
#ifndef KERNELS_CONV_OPERANDS_H
#define KERNELS_CONV_OPERANDS_H

#include "kernels/kernel.h"

typedef struct {
  const float *src, *w;
  const float *bias;       // or NULL
  const float *add, *mask; // of dst's layout, or NULL
  float *dst;
  KernelAct act;           // of the results; where there is a mask, what has made it
} ConvOperands;

#endif
