// SPDX-License-Identifier: Apache-2.0
// The table of operators, made from ops.list, and what all of them share.
#include "ops/op.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FAMILY(name) extern const OpDef name##_ops[];
#include "ops/ops.list"
#undef FAMILY

#define FAMILY(name) name##_ops,
static const OpDef *const families[] = {
#include "ops/ops.list"
};
#undef FAMILY

void op_each(void (*visit)(const OpDef *op, void *user), void *user)
{
  for (size_t f = 0; f < COUNT_OF(families); ++f)
    for (const OpDef *op = families[f]; op->name; ++op)
      visit(op, user);
}

const OpDef *op_by_name(const char *name)
{
  for (size_t f = 0; f < COUNT_OF(families); ++f)
    for (const OpDef *op = families[f]; op->name; ++op)
      if (strcmp(op->name, name) == 0)
        return op;
  return NULL;
}

const OpDef *op_by_code(int32_t code)
{
  if (code == OP_NOT_IN_FILES)
    return NULL;
  for (size_t f = 0; f < COUNT_OF(families); ++f)
    for (const OpDef *op = families[f]; op->name; ++op)
      if (op->code == code)
        return op;
  return NULL;
}

NodeText node_text(const Graph *g, const Node *n)
{
  NodeText t;
  const char *name = n->n_out > 0 && n->out[0] >= 0 ? g->tensors[n->out[0]].name : "";
  if (n->model_op >= 0)
    snprintf(t.text, sizeof t.text, "node %d (%s '%.80s')", n->model_op, n->op->name, name);
  else
    snprintf(t.text, sizeof t.text, "added node %s '%.80s'", n->op->name, name);
  return t;
}

// ---- infer ----

const Tensor *infer_in(const Infer *f, int i)
{
  return i < f->node->n_in && f->node->in[i] >= 0 ? &f->g->tensors[f->node->in[i]] : NULL;
}

Status infer_out(Infer *f, int i, DType type, Shape shape)
{
  int64_t numel = 0;
  if (shape.rank > MAX_RANK)
    return infer_fail(f, "output %d would have rank %d, at most %d is supported", i, shape.rank,
                      MAX_RANK);
  if (!shape_numel_checked(&shape, &numel) || numel > INT64_MAX / 8)
    return infer_fail(f, "output %d would have the impossible shape %s", i,
                      shape_text(&shape).text);
  Tensor *t = &f->g->tensors[f->node->out[i]];
  t->dtype = type;
  t->shape = shape;
  t->batched = false;
  for (int k = 0; k < f->node->n_in; ++k)
    if (f->node->in[k] >= 0 && f->g->tensors[f->node->in[k]].batched)
      t->batched = true;
  return ST_OK;
}

void infer_unbatched(Infer *f, int i)
{
  f->g->tensors[f->node->out[i]].batched = false;
}

Status infer_ints(Infer *f, int i, int64_t *values, int room, int *n)
{
  const Tensor *t = infer_in(f, i);
  if (!t)
    return infer_fail(f, "input %d is absent", i);
  if (t->dtype != DT_I32 && t->dtype != DT_I64)
    return infer_fail(f, "input %d ('%s') is %s, wanted int32 or int64", i, t->name,
                      dtype_name(t->dtype));
  if (t->kind != TK_CONST)
    return infer_fail(f, "input %d ('%s') must be constant; its value depends on the data", i,
                      t->name);
  int64_t count = shape_numel(&t->shape);
  if (t->shape.rank > 2 || count > room)
    return infer_fail(f, "input %d ('%s') has shape %s, at most %d values are supported", i,
                      t->name, shape_text(&t->shape).text, room);
  for (int64_t k = 0; k < count; ++k)
    values[k] =
      t->dtype == DT_I32 ? ((const int32_t *)t->data)[k] : ((const int64_t *)t->data)[k];
  *n = (int)count;
  return ST_OK;
}

Status infer_fail(const Infer *f, const char *format, ...)
{
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return diag_fail(f->diag, ST_ERROR, "%s: %s", node_text(f->g, f->node).text, text);
}

Status infer_expect(const Infer *f, int i, DType type, int rank)
{
  const Tensor *t = infer_in(f, i);
  if (!t)
    return infer_fail(f, "input %d is absent", i);
  if (t->dtype != type)
    return infer_fail(f, "input %d ('%s') is %s, wanted %s", i, t->name, dtype_name(t->dtype),
                      dtype_name(type));
  if (rank >= 0 && t->shape.rank != rank)
    return infer_fail(f, "input %d ('%s') has shape %s, wanted rank %d", i, t->name,
                      shape_text(&t->shape).text, rank);
  return ST_OK;
}

Status infer_operands(const Infer *f, Shape *out)
{
  const Tensor *a = infer_in(f, 0), *b = infer_in(f, 1);
  if (a->dtype != b->dtype)
    return infer_fail(f, "operands are %s and %s", dtype_name(a->dtype), dtype_name(b->dtype));
  if (!shape_broadcast(&a->shape, &b->shape, out))
    return infer_fail(f, "shapes %s and %s do not broadcast", shape_text(&a->shape).text,
                      shape_text(&b->shape).text);
  return ST_OK;
}

// ---- bind ----

static Shape effective(const Bind *b, int32_t tensor)
{
  const Tensor *t = &b->g->tensors[tensor];
  Shape s = t->shape;
  if (!t->batched)
    return s;
  if (s.rank == 0)
    return (Shape){.rank = 1, .dim = {b->n}};
  s.dim[0] *= b->n;
  return s;
}

Shape bind_in(const Bind *b, int i)
{
  return effective(b, b->node->in[i]);
}

Shape bind_out(const Bind *b, int i)
{
  return effective(b, b->node->out[i]);
}

DType bind_type(const Bind *b, int i)
{
  return b->g->tensors[b->node->in[i]].dtype;
}

void *bind_args(Bind *b, size_t bytes)
{
  void *p = arena_alloc(b->arena, bytes);
  b->args = p;
  return p;
}

void *bind_memory(Bind *b, size_t bytes)
{
  enum { ALIGNMENT = 64 };
  uint8_t *p = bytes <= SIZE_MAX - ALIGNMENT ? arena_alloc(b->arena, bytes + ALIGNMENT) : NULL;
  return p ? p + (-(uintptr_t)p & (ALIGNMENT - 1)) : NULL;
}

const void *bind_constant(const Bind *b, int i)
{
  const Tensor *t = &b->g->tensors[b->node->in[i]];
  return b->constants_stay && t->kind == TK_CONST ? t->data : NULL;
}

Status bind_fail(const Bind *b, const char *format, ...)
{
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return diag_fail(b->diag, ST_ERROR, "%s: %s", node_text(b->g, b->node).text, text);
}

// ---- merge ----

bool merge_elementwise(const Graph *g, const Node *n)
{
  const Shape *out = &g->tensors[n->out[0]].shape;
  for (int i = 0; i < n->n_in; ++i) {
    if (n->in[i] < 0)
      continue;
    const Tensor *t = &g->tensors[n->in[i]];
    if (t->batched) {
      if (t->shape.rank != out->rank || (out->rank > 0 && t->shape.dim[0] != out->dim[0]))
        return false;
    } else if (t->shape.rank == out->rank && out->rank > 0 && t->shape.dim[0] != 1) {
      return false;
    }
  }
  return true;
}

bool merge_outer(const Graph *g, const Node *n)
{
  for (int i = 1; i < n->n_in; ++i)
    if (n->in[i] >= 0 && g->tensors[n->in[i]].batched)
      return false;
  return g->tensors[n->in[0]].batched && g->tensors[n->in[0]].shape.rank > 0;
}

bool merge_always(const Graph *g, const Node *n)
{
  (void)g;
  (void)n;
  return true;
}
