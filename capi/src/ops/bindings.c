// SPDX-License-Identifier: Apache-2.0
#include "ops/bindings.h"

#include "ops/attrs.h"

Infer infer_view(const Graph *g, const Node *n, Diag *d)
{
  return (Infer){(Graph *)(uintptr_t)g, (Node *)(uintptr_t)n, d};
}

Status bias_check(const Infer *f, int i, int32_t units)
{
  const Tensor *bias = infer_in(f, i);
  if (!bias)
    return ST_OK;
  TRY(infer_expect(f, i, DT_F32, -1));
  if (shape_numel(&bias->shape) != units)
    return infer_fail(f, "bias has %lld values, wanted %d, one an output channel",
                      (long long)shape_numel(&bias->shape), units);
  return ST_OK;
}

void bias_grad(Grad *g, int i, int32_t dy)
{
  if (dy < 0 || !grad_wants(g, i))
    return;
  const Tensor *bias = grad_tensor(g, grad_of(g)->in[i]), *t = grad_tensor(g, dy);
  SumToAttr sum = {.shape = {.rank = 1, .dim = {t->shape.dim[t->shape.rank - 1]}},
                   .over_samples = !bias->batched && t->batched};
  ReshapeToAttr like = {.shape = bias->shape};
  bool reshaped = !shape_equal(&sum.shape, &bias->shape);
  int32_t db = grad_node(g, "SUM_TO", &sum, 1, &dy);
  grad_give(g, i, reshaped ? grad_node(g, "RESHAPE_TO", &like, 1, &db) : db);
}

KernelType kernel_type(DType t)
{
  static const KernelType table[DT_COUNT] = {
    [DT_F32] = KT_F32, [DT_F16] = KT_F16, [DT_I32] = KT_I32, [DT_U32] = KT_U32, [DT_I64] = KT_I64,
    [DT_U8] = KT_U8,   [DT_I8] = KT_I8,   [DT_I16] = KT_I16, [DT_BOOL] = KT_BOOL};
  return table[t];
}

static void broadcast_strides(const Shape *operand, const Shape *out, int64_t *stride)
{
  int64_t dense[MAX_RANK];
  if (!operand)
    return;
  shape_strides(operand, dense);
  for (int i = 0; i < out->rank; ++i) {
    int k = i - (out->rank - operand->rank);
    stride[i] = k < 0 || operand->dim[k] == 1 ? 0 : dense[k];
  }
}

BroadcastShape broadcast_shape(const Shape *out, const Shape *a, const Shape *b, const Shape *c)
{
  BroadcastShape s = {.rank = out->rank};
  for (int i = 0; i < out->rank; ++i)
    s.dim[i] = out->dim[i];
  broadcast_strides(a, out, s.a_stride);
  broadcast_strides(b, out, s.b_stride);
  broadcast_strides(c, out, s.c_stride);
  return s;
}
