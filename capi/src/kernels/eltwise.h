// SPDX-License-Identifier: Apache-2.0
// Element-wise kernels. dst may be the same pointer as any source of the same size.
#ifndef KERNELS_ELTWISE_H
#define KERNELS_ELTWISE_H

#include "kernels/kernel.h"

typedef enum { KBIN_ADD, KBIN_SUB, KBIN_MUL, KBIN_DIV } KernelBinary;
typedef enum {
  KUN_RELU, KUN_RELU6, KUN_RELU_N1_TO_1, KUN_LOGISTIC, KUN_TANH, KUN_LEAKY_RELU, KUN_NEG,
} KernelUnary;

enum { ELT_MAX_RANK = 8 };

// Broadcasting: output dimensions, and for each operand its element strides, 0 where it repeats.
typedef struct {
  int32_t rank;
  int64_t dim[ELT_MAX_RANK];
  int64_t a_stride[ELT_MAX_RANK], b_stride[ELT_MAX_RANK];
} BroadcastShape;

typedef struct {
  // Same size. y = act(a op b)
  void (*binary)(KernelBinary op, KernelAct act, const float *a, const float *b, float *y,
                 int64_t n, Pool *pool);
  // y = act(a op b) with broadcasting; inner dimensions that both operands walk densely, or that
  // one of them repeats, run vectorised.
  void (*binary_broadcast)(KernelBinary op, KernelAct act, const BroadcastShape *s, const float *a,
                           const float *b, float *y, Pool *pool);
  // alpha is the slope of LEAKY_RELU below 0.
  void (*unary)(KernelUnary op, float alpha, const float *x, float *y, int64_t n, Pool *pool);
  // dx (+)= dy * f'(x), taken from y = f(x). LEAKY_RELU with a negative alpha also reads x.
  void (*unary_grad)(KernelUnary op, float alpha, const float *x, const float *y, const float *dy,
                     float *dx, bool accumulate, int64_t n, Pool *pool);
  // dx = dy masked by the derivative of a fused activation, taken from the activated y: RELU y > 0,
  // RELU6 0 < y < 6, RELU_N1_TO_1 -1 < y < 1, TANH 1 - y^2. dx (+)=.
  void (*act_grad)(KernelAct act, const float *y, const float *dy, float *dx, bool accumulate,
                   int64_t n, Pool *pool);
  // y (+)= scale * x
  void (*scale)(float scale, const float *x, float *y, bool accumulate, int64_t n, Pool *pool);
} EltwiseKernels;

const EltwiseKernels *eltwise_kernels(void);
const EltwiseKernels *eltwise_kernels_for(Isa isa);

#endif
