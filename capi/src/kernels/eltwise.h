// SPDX-License-Identifier: Apache-2.0
// Element-wise kernels. dst may be the same pointer as any source of the same size.
#ifndef KERNELS_ELTWISE_H
#define KERNELS_ELTWISE_H

#include "kernels/kernel.h"

// PRELU: a where it is 0 or more, else a * b.
typedef enum {
  KBIN_ADD, KBIN_SUB, KBIN_MUL, KBIN_DIV, KBIN_MAXIMUM, KBIN_MINIMUM, KBIN_SQUARED_DIFFERENCE,
  KBIN_POW, KBIN_FLOOR_DIV, KBIN_FLOOR_MOD, KBIN_ATAN2, KBIN_PRELU, KBIN_COUNT,
} KernelBinary;
typedef enum {
  KUN_RELU, KUN_RELU6, KUN_RELU_N1_TO_1, KUN_RELU_0_TO_1, KUN_LOGISTIC, KUN_TANH, KUN_LEAKY_RELU,
  KUN_ELU, KUN_GELU, KUN_GELU_TANH, KUN_HARD_SWISH, KUN_NEG, KUN_ABS, KUN_SQUARE, KUN_SQRT,
  KUN_RSQRT, KUN_EXP, KUN_LOG, KUN_SIN, KUN_COS, KUN_FLOOR, KUN_CEIL, KUN_ROUND, KUN_SIGN,
} KernelUnary;

// What the gradient of a function is computed from besides dy.
typedef enum { KUN_READS_NOTHING, KUN_READS_X, KUN_READS_Y } KernelUnaryReads;

// From y = f(x) where that will do, so that x need not be kept.
static inline KernelUnaryReads unary_grad_reads(KernelUnary op, float alpha)
{
  switch (op) {
  case KUN_NEG:
  case KUN_FLOOR:
  case KUN_CEIL:
  case KUN_ROUND:
  case KUN_SIGN:
    return KUN_READS_NOTHING;
  case KUN_LEAKY_RELU:
    return alpha < 0 ? KUN_READS_X : KUN_READS_Y;
  case KUN_GELU:
  case KUN_GELU_TANH:
  case KUN_HARD_SWISH:
  case KUN_ABS:
  case KUN_SQUARE:
  case KUN_LOG:
  case KUN_SIN:
  case KUN_COS:
    return KUN_READS_X;
  default:
    return KUN_READS_Y;
  }
}

enum { ELT_MAX_RANK = 8 };

// Broadcasting: output dimensions, and for each operand its element strides, 0 where it repeats.
typedef struct {
  int32_t rank;
  int64_t dim[ELT_MAX_RANK];
  int64_t a_stride[ELT_MAX_RANK], b_stride[ELT_MAX_RANK], c_stride[ELT_MAX_RANK];
} BroadcastShape;

typedef struct {
  // Same size. y = act(a op b)
  void (*binary)(KernelBinary op, KernelAct act, const float *a, const float *b, float *y,
                 int64_t n, Pool *pool);
  // y = act(a op b) with broadcasting; inner dimensions that both operands walk densely, or that
  // one of them repeats, run vectorised.
  void (*binary_broadcast)(KernelBinary op, KernelAct act, const BroadcastShape *s, const float *a,
                           const float *b, float *y, Pool *pool);
  // d (+)= dy * the derivative of a op b by a, or by its `second` operand, for every element of the
  // broadcast shape, which dy has. From MAXIMUM on, but not FLOOR_DIV, whose derivative is 0; of
  // FLOOR_MOD by b only.
  void (*binary_grad)(KernelBinary op, bool second, const BroadcastShape *s, const float *a,
                      const float *b, const float *dy, float *d, bool accumulate, Pool *pool);
  // alpha is the slope of LEAKY_RELU below 0.
  void (*unary)(KernelUnary op, float alpha, const float *x, float *y, int64_t n, Pool *pool);
  // dx (+)= dy * f'(x), where v is x, y = f(x) or NULL as unary_grad_reads() says.
  void (*unary_grad)(KernelUnary op, float alpha, const float *v, const float *dy, float *dx,
                     bool accumulate, int64_t n, Pool *pool);
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
