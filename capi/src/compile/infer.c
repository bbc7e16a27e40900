// SPDX-License-Identifier: Apache-2.0
// Shape inference and constant folding, node by node: a shape that a Reshape needs may come from a
// chain of Shape, StridedSlice and Pack, which must have a value by then.
//
//   before: SHAPE(x) -> STRIDED_SLICE -> PACK -> RESHAPE(x, .)      after: RESHAPE(x, constant)
//
// Folding also covers anything else whose inputs are all constant, but for results that take far
// more memory than they are made of. Parameters are not constant.
#include "compile/passes.h"
#include "compile/select.h"
#include "base/mem.h"


// Bytes are counted in doubles, which do not overflow.
static double bytes_of(const Graph *g, int32_t tensor)
{
  const Tensor *t = &g->tensors[tensor];
  return (double)shape_numel(&t->shape) * (double)dtype_bytes(t->dtype);
}

// An operand that lends its shape only is as good as constant: shapes are known here.
static bool foldable(const Graph *g, const Node *n)
{
  enum { LITTLE = 1 << 20, GROWTH = 4 };
  double in = 0, out = 0;
  if (n->op->flags & (OP_NO_FOLD | OP_EFFECT))
    return false;
  for (int i = 0; i < n->n_in; ++i) {
    bool is_read = n->in[i] >= 0 && !(i < 32 && n->op->shape_only >> i & 1);
    if (is_read && g->tensors[n->in[i]].kind != TK_CONST)
      return false;
    in += is_read ? bytes_of(g, n->in[i]) : 0;
  }
  for (int i = 0; i < n->n_out; ++i)
    out += bytes_of(g, n->out[i]);
  return out <= LITTLE || out <= GROWTH * in;
}

// Evaluates the node into memory of the graph's arena and turns its outputs into constants.
static Status fold(Graph *g, Node *n, Diag *d)
{
  for (int i = 0; i < n->n_out; ++i)
    g->tensors[n->out[i]].batched = false;
  if (n->op->flags & OP_ALIAS) {
    Tensor *out = &g->tensors[n->out[0]];
    out->data = g->tensors[n->in[0]].data;
    out->kind = TK_CONST;
    return ST_OK;
  }
  Selected s;
  TRY(select_kernel(g, n, &(SelectTarget){.samples = 1, .threads = 1}, g->arena, &s, d));
  void **p = arena_array(g->arena, (size_t)(n->n_in + n->n_out), sizeof *p);
  if (!p)
    return diag_oom(d);
  for (int i = 0; i < n->n_in; ++i)
    p[i] = n->in[i] >= 0 ? g->tensors[n->in[i]].data : NULL;
  for (int i = 0; i < n->n_out; ++i) {
    Tensor *out = &g->tensors[n->out[i]];
    size_t bytes = (size_t)shape_numel(&out->shape) * dtype_bytes(out->dtype);
    // The arena aligns to 16 bytes; kernels want MEM_ALIGN at most for speed, so that will do.
    out->data = arena_alloc(g->arena, bytes);
    if (!out->data)
      return diag_oom(d);
    out->kind = TK_CONST;
    p[n->n_in + i] = out->data;
  }
  void *scratch = mem_alloc(s.scratch);
  if (!scratch)
    return diag_oom(d);
  Hyper none = {0};
  s.run(s.args, &(Call){.p = p, .scratch = scratch, .hyper = &none});
  mem_free(scratch);
  return ST_OK;
}

Status infer_pass(Graph *g, Diag *d)
{
  bool *keep = arena_array(g->arena, g->n_nodes, sizeof *keep);
  if (!keep)
    return diag_oom(d);
  for (size_t i = 0; i < g->n_nodes; ++i) {
    Node *n = &g->nodes[i];
    TRY(n->op->infer(&(Infer){g, n, d}));
    keep[i] = !foldable(g, n);
    if (!keep[i])
      TRY(fold(g, n, d));
  }
  graph_keep_nodes(g, keep);
  return ST_OK;
}
