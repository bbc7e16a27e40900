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
