// SPDX-License-Identifier: Apache-2.0
// Shape inference and constant folding, node by node: a shape that a Reshape needs may come from a
// chain of Shape, StridedSlice and Pack, which must have a value by then.
//
//   before: SHAPE(x) -> STRIDED_SLICE -> PACK -> RESHAPE(x, .)      after: RESHAPE(x, constant)
//
// Folding also covers anything else whose inputs are all constant, but for results that take far
// more memory than they are made of. Parameters are not constant.
//
// An operator that is made up of others (OpDef.expand) is replaced by them here, where the shapes of
// its inputs are known.
#include "compile/passes.h"
#include "compile/select.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>


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

// ---- expanding ----

struct Expand {
  Graph *g;
  Diag *diag;
  Status status; // first failure; later calls do nothing
  Node node;     // the one that is expanded
};

// Appends a node with its shapes inferred, or turns its outputs into constants.
static Status append(Graph *g, const Node *node, Diag *d)
{
  int32_t at = graph_add_node(g, node);
  if (at < 0)
    return diag_oom(d);
  Node *n = &g->nodes[at];
  TRY(n->op->infer(&(Infer){g, n, d}));
  if (!foldable(g, n))
    return ST_OK;
  for (int i = 0; i < n->n_out; ++i)
    g->tensors[n->out[i]].producer = -1;
  TRY(fold(g, n, d));
  --g->n_nodes;
  return ST_OK;
}

static void fail(Expand *e, Status s)
{
  if (e->status == ST_OK)
    e->status = s;
}

const Node *expand_of(const Expand *e)
{
  return &e->node;
}

const Tensor *expand_in(const Expand *e, int i)
{
  return i < e->node.n_in && e->node.in[i] >= 0 ? &e->g->tensors[e->node.in[i]] : NULL;
}

static int32_t add_tensor(Expand *e, const Tensor *t)
{
  Tensor named = *t;
  named.name = e->g->tensors[e->node.out[0]].name;
  named.model_tensor = named.producer = -1;
  int32_t index = graph_add_tensor(e->g, &named);
  if (index < 0)
    fail(e, diag_oom(e->diag));
  return index;
}

static void add(Expand *e, const char *op_name, int n_in, const int32_t *in, int n_out,
                const int32_t *out)
{
  int32_t operands[OP_MAX_OPERANDS], results[OP_MAX_OPERANDS];
  for (int i = 0; i < n_in; ++i)
    operands[i] = in[i];
  for (int i = 0; i < n_out; ++i)
    results[i] = out[i];
  const OpDef *op = op_by_name(op_name);
  Node n = {.op = op, .in = operands, .out = results, .n_in = n_in, .n_out = n_out, .acc = -1,
            .model_op = -1};
  if (op->attr_bytes) {
    void *attr = arena_alloc(e->g->arena, op->attr_bytes);
    int act = ACT_NONE;
    n.attr = attr;
    if (!attr)
      fail(e, diag_oom(e->diag));
    else if (op->parse)
      fail(e, op->parse(&(FbTable){0}, attr, &act, e->diag));
  }
  if (e->status == ST_OK)
    fail(e, append(e->g, &n, e->diag));
}

void expand_nodes(Expand *e, const char *op_name, int n_in, const int32_t *in, int n_out,
                  int32_t *out)
{
  for (int i = 0; i < n_out; ++i)
    out[i] = e->status == ST_OK ? add_tensor(e, &(Tensor){.kind = TK_TEMP, .dtype = DT_F32}) : -1;
  if (e->status == ST_OK)
    add(e, op_name, n_in, in, n_out, out);
}

int32_t expand_node(Expand *e, const char *op_name, int n_in, const int32_t *in)
{
  int32_t out;
  expand_nodes(e, op_name, n_in, in, 1, &out);
  return out;
}

void expand_result(Expand *e, int i, const char *op_name, int n_in, const int32_t *in)
{
  if (e->status == ST_OK)
    add(e, op_name, n_in, in, 1, &e->node.out[i]);
}

static int32_t constant(Expand *e, DType type, Shape shape, const void *values, size_t bytes)
{
  if (e->status != ST_OK)
    return -1;
  Tensor t = {.kind = TK_CONST, .dtype = type, .shape = shape, .declared = shape,
              .has_declared = true, .data = arena_copy(e->g->arena, values, bytes)};
  if (!t.data) {
    fail(e, diag_oom(e->diag));
    return -1;
  }
  return add_tensor(e, &t);
}

int32_t expand_ints(Expand *e, int n, const int32_t *values)
{
  return constant(e, DT_I32, (Shape){.rank = 1, .dim = {n}}, values, sizeof *values * (size_t)n);
}

int32_t expand_float(Expand *e, float value)
{
  return constant(e, DT_F32, (Shape){.rank = 0}, &value, sizeof value);
}

Status expand_fail(Expand *e, const char *format, ...)
{
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return diag_fail(e->diag, ST_ERROR, "%s: %s", node_text(e->g, &e->node).text, text);
}

static Status expand(Graph *g, const Node *n, Diag *d)
{
  Expand e = {.g = g, .diag = d, .status = ST_OK, .node = *n};
  for (int i = 0; i < n->n_out; ++i)
    g->tensors[n->out[i]].producer = -1;
  TRY(n->op->expand(&e));
  return e.status;
}

Status infer_pass(Graph *g, Diag *d)
{
  const Node *old = g->nodes;
  const size_t n_old = g->n_nodes;
  g->nodes = NULL;
  g->n_nodes = g->cap_nodes = 0;
  for (size_t i = 0; i < n_old; ++i)
    TRY(old[i].op->expand ? expand(g, &old[i], d) : append(g, &old[i], d));
  return ST_OK;
}
