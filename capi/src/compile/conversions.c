// SPDX-License-Identifier: Apache-2.0
// Quantized operators become operators of reals between conversions; what is in memory between two
// operators stays the integers that the file asks for.
//
//   before: CONV_2D(x int8, w int8, b int32) -> y int8
//   after:  CONV_2D(DEQUANTIZE(x), DEQUANTIZE(w), DEQUANTIZE(b)) -> real, QUANTIZE(real) -> y int8
//
// Each operator so takes every quantized type, per-channel scales, and float activations with
// integer weights. Sums of products of integers with one scale are as exact in float32 as their
// rounding to the output's step needs. Conversions of constants fold in the infer pass.
#include "compile/passes.h"
#include "ops/op.h"

static bool has_scale(const Tensor *t)
{
  return t->quant.n > 1 || (t->quant.n == 1 && t->quant.scale[0] > 0);
}

static bool is_narrow(const Tensor *t)
{
  return t->dtype == DT_I8 || t->dtype == DT_U8 || t->dtype == DT_I16;
}

// int32 and int64 are quantized as biases only; elsewhere they count.
static bool is_quantized_in(const Graph *g, const Node *n, int i)
{
  if (n->in[i] < 0 || (n->op->flags & OP_READS_STORED))
    return false;
  const Tensor *t = &g->tensors[n->in[i]];
  const bool is_param = i < 32 && (n->op->params >> i & 1);
  return has_scale(t) && (is_narrow(t) || (is_param && (t->dtype == DT_I32 || t->dtype == DT_I64)));
}

static bool is_quantized_out(const Graph *g, const Node *n, int i)
{
  const Tensor *t = &g->tensors[n->out[i]];
  return !(n->op->flags & OP_WRITES_STORED) && is_narrow(t) && has_scale(t);
}

// Another shape for the same integers, which mean the same afterwards.
static bool is_view(const Graph *g, const Node *n)
{
  if (!(n->op->flags & OP_ALIAS))
    return false;
  const Tensor *x = &g->tensors[n->in[0]], *y = &g->tensors[n->out[0]];
  return x->dtype == y->dtype && x->quant.n <= 1 && y->quant.n <= 1 &&
         (!has_scale(y) || (has_scale(x) && x->quant.scale[0] == y->quant.scale[0] &&
                            x->quant.zero_point[0] == y->quant.zero_point[0]));
}

static bool is_quantized(const Graph *g, const Node *n)
{
  if (is_view(g, n))
    return false;
  for (int i = 0; i < n->n_in; ++i)
    if (is_quantized_in(g, n, i))
      return true;
  for (int i = 0; i < n->n_out; ++i)
    if (is_quantized_out(g, n, i))
      return true;
  return false;
}

// A float32 tensor for the reals of t.
static int32_t add_real(Graph *g, int32_t t)
{
  Tensor real = g->tensors[t];
  real.dtype = DT_F32;
  real.kind = TK_TEMP;
  real.data = NULL;
  real.quant = (Quant){0};
  real.variable = false;
  real.model_tensor = -1;
  real.producer = -1;
  return graph_add_tensor(g, &real);
}

static Status convert(Graph *g, const char *op, const Node *of, int32_t from, int32_t to, Diag *d)
{
  const Node n = {.op = op_by_name(op), .in = &from, .out = &to, .n_in = 1, .n_out = 1, .acc = -1,
                  .model_op = of->model_op};
  return graph_add_node(g, &n) < 0 ? diag_oom(d) : ST_OK;
}

// real[t]: the float32 tensor that t was converted to already, or -1.
static Status convert_node(Graph *g, Node *n, int32_t *real, Diag *d)
{
  for (int i = 0; i < n->n_in; ++i) {
    if (!is_quantized_in(g, n, i))
      continue;
    const int32_t t = n->in[i];
    if (real[t] < 0) {
      real[t] = add_real(g, t);
      if (real[t] < 0)
        return diag_oom(d);
      TRY(convert(g, "DEQUANTIZE", n, t, real[t], d));
    }
    n->in[i] = real[t];
  }
  int32_t *stored = arena_copy(g->arena, n->out, sizeof *stored * (size_t)n->n_out);
  if (!stored)
    return diag_oom(d);
  for (int i = 0; i < n->n_out; ++i)
    if (is_quantized_out(g, n, i) && (n->out[i] = add_real(g, stored[i])) < 0)
      return diag_oom(d);
  if (graph_add_node(g, n) < 0)
    return diag_oom(d);
  for (int i = 0; i < n->n_out; ++i)
    if (n->out[i] != stored[i])
      TRY(convert(g, "QUANTIZE", n, n->out[i], stored[i], d));
  return ST_OK;
}

Status conversions_pass(Graph *g, Diag *d)
{
  bool any = false;
  for (size_t i = 0; i < g->n_nodes && !any; ++i)
    any = is_quantized(g, &g->nodes[i]);
  if (!any)
    return ST_OK;
  int32_t *real = arena_array(g->arena, g->n_tensors, sizeof *real);
  if (!real)
    return diag_oom(d);
  for (size_t t = 0; t < g->n_tensors; ++t)
    real[t] = -1;
  Node *nodes = g->nodes;
  const size_t n_nodes = g->n_nodes;
  g->nodes = NULL;
  g->n_nodes = g->cap_nodes = 0;
  for (size_t i = 0; i < n_nodes; ++i) {
    if (is_quantized(g, &nodes[i]))
      TRY(convert_node(g, &nodes[i], real, d));
    else if (graph_add_node(g, &nodes[i]) < 0)
      return diag_oom(d);
  }
  return ST_OK;
}
