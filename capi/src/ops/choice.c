// SPDX-License-Identifier: Apache-2.0
// SELECT and SELECT_V2: elements of one operand where a condition holds, else of another.
#include "kernels/typed.h"
#include "ops/bindings.h"
#include "ops/op.h"

#include <math.h>
#include <string.h>

typedef struct {
  bool second; // operand whose gradient it is: the one taken where the condition does not hold
  bool rows;   // the condition is of rows
} SelectGradAttr;

typedef struct {
  int32_t bytes; // of an element
  bool second;
  BroadcastShape s;
} Args;

// In SELECT a vector is a condition of rows: it stands at the first dimension, not at the last one.
static bool is_of_rows(const Graph *g, const Node *n)
{
  return strcmp(n->op->name, "SELECT") == 0 && g->tensors[n->in[0]].shape.rank == 1 &&
         g->tensors[n->out[0]].shape.rank > 1;
}

static Status infer_fixed(Infer *f)
{
  const Shape *c = &infer_in(f, 0)->shape, *a = &infer_in(f, 1)->shape, *b = &infer_in(f, 2)->shape;
  if (!shape_equal(a, b))
    return infer_fail(f, "operands are of shape %s and %s, wanted one shape", shape_text(a).text,
                      shape_text(b).text);
  if (c->rank != 0 && !shape_equal(c, a) && (c->rank != 1 || a->rank == 0 || c->dim[0] != a->dim[0]))
    return infer_fail(f, "a condition of shape %s for operands of shape %s", shape_text(c).text,
                      shape_text(a).text);
  return infer_out(f, 0, infer_in(f, 1)->dtype, *a);
}

static Status infer_broadcast(Infer *f)
{
  const Shape *c = &infer_in(f, 0)->shape, *a = &infer_in(f, 1)->shape, *b = &infer_in(f, 2)->shape;
  Shape both, out;
  if (!shape_broadcast(a, b, &both) || !shape_broadcast(c, &both, &out))
    return infer_fail(f, "shapes %s, %s and %s do not broadcast", shape_text(c).text,
                      shape_text(a).text, shape_text(b).text);
  return infer_out(f, 0, infer_in(f, 1)->dtype, out);
}

static Status infer(Infer *f)
{
  TRY(infer_expect(f, 0, DT_BOOL, -1));
  DType a = infer_in(f, 1)->dtype, b = infer_in(f, 2)->dtype;
  if (a != b)
    return infer_fail(f, "operands are %s and %s", dtype_name(a), dtype_name(b));
  return strcmp(f->node->op->name, "SELECT") == 0 ? infer_fixed(f) : infer_broadcast(f);
}

// What a condition of rows says of row 0 may be said of all samples; else all come from the data.
static bool rows_merge(const Graph *g, const Node *n)
{
  const Tensor *c = &g->tensors[n->in[0]];
  if (!c->batched && c->shape.dim[0] != 1)
    return false;
  for (int i = 1; i < n->n_in; ++i)
    if (!g->tensors[n->in[i]].batched && g->tensors[n->in[i]].shape.dim[0] != 1)
      return false;
  return true;
}

static bool merge(const Graph *g, const Node *n)
{
  return is_of_rows(g, n) ? rows_merge(g, n) : merge_elementwise(g, n);
}

static void run(const void *args, const Call *c)
{
  const Args *a = args;
  typed_select(a->bytes, &a->s, c->p[0], c->p[1], c->p[2], c->p[3], c->pool);
}

// The condition with the rank it broadcasts from.
static Shape condition(const Shape *c, int rank, bool rows)
{
  if (!rows)
    return *c;
  Shape s = {.rank = rank};
  for (int i = 0; i < rank; ++i)
    s.dim[i] = i == 0 ? c->dim[0] : 1;
  return s;
}

static Status bind(Bind *b)
{
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  Shape c = bind_in(b, 0), x = bind_in(b, 1), y = bind_in(b, 2), out = bind_out(b, 0);
  c = condition(&c, out.rank, is_of_rows(b->g, b->node));
  a->bytes = (int32_t)dtype_bytes(bind_type(b, 1));
  a->s = broadcast_shape(&out, &c, &x, &y);
  b->run = run;
  return ST_OK;
}

// SELECT_GRAD(condition, dy) -> dy where its operand was taken, else 0; in the shape of dy.
static Status infer_grad(Infer *f)
{
  return infer_out(f, 0, DT_F32, infer_in(f, 1)->shape);
}

static bool merge_grad(const Graph *g, const Node *n)
{
  const SelectGradAttr *a = n->attr;
  return a->rows ? rows_merge(g, n) : merge_elementwise(g, n);
}

static void run_grad(const void *args, const Call *c)
{
  static const float zero = 0;
  const Args *a = args;
  const void *dy = c->p[1];
  typed_select(sizeof zero, &a->s, c->p[0], a->second ? &zero : dy, a->second ? dy : &zero, c->p[2],
               c->pool);
}

static Status bind_grad(Bind *b)
{
  const SelectGradAttr *attr = b->node->attr;
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  Shape c = bind_in(b, 0), dy = bind_in(b, 1), zero = {0};
  c = condition(&c, dy.rank, attr->rows);
  a->second = attr->second;
  a->s = attr->second ? broadcast_shape(&dy, &c, &zero, &dy) : broadcast_shape(&dy, &c, &dy, &zero);
  b->run = run_grad;
  return ST_OK;
}

static Status grad(Grad *g)
{
  const Node *n = grad_of(g);
  for (int i = 1; i < 3; ++i) {
    SelectGradAttr attr = {.second = i == 2, .rows = is_of_rows(grad_graph(g), n)};
    if (grad_wants(g, i))
      grad_give_reduced(g, i, grad_node(g, "SELECT_GRAD", &attr, 2,
                                        (int32_t[]){n->in[0], grad_out(g, 0)}));
  }
  return ST_OK;
}

#define SELECT(NAME, number, tag)                                                                  \
  {                                                                                                \
    .name = NAME, .code = number, .options = tag, .min_in = 3, .max_in = 3, .n_out = 1,            \
    .infer = infer, .merge = merge, .bind = bind, .grad = grad                                     \
  }

const OpDef choice_ops[] = {
  SELECT("SELECT", 64, 47), SELECT("SELECT_V2", 123, 98),
  {.name = "SELECT_GRAD", .code = OP_NOT_IN_FILES, .attr_bytes = sizeof(SelectGradAttr),
   .infer = infer_grad, .merge = merge_grad, .bind = bind_grad},
  END_OPS};

#define BOOLS(...) TENSOR(BOOL, DIMS(4), VALUES(__VA_ARGS__))
#define F4(...) TENSOR(F32, DIMS(4), VALUES(__VA_ARGS__))
#define I4(TYPE, ...) TENSOR(TYPE, DIMS(4), VALUES(__VA_ARGS__))
#define OF_TYPE(OP, TYPE)                                                                          \
  CASE(OP, #TYPE, IN(BOOLS(0, 1, 2, 0), I4(TYPE, 1, 0, 1, 1), I4(TYPE, 0, 1, 0, 1)),               \
       OUT(I4(TYPE, 0, 0, 1, 1)))
#define EITHER(OP)                                                                                 \
  CASE(OP, "float32, what is not taken does not matter",                                           \
       IN(BOOLS(0, 1, 1, 0), F4(NAN, 2, -INFINITY, 4), F4(5, NAN, 7, INFINITY)),                   \
       OUT(F4(5, 2, -INFINITY, INFINITY))),                                                        \
  OF_TYPE(OP, I32), OF_TYPE(OP, I64), OF_TYPE(OP, BOOL), OF_TYPE(OP, U8), OF_TYPE(OP, I16),        \
  CASE(OP, "one condition", IN(TENSOR(BOOL, DIMS(), VALUES(1)), RANDOM(2, 3), RANDOM(2, 3)),       \
       OUT(RANDOM(2, 3))),                                                                         \
  CASE(OP, "scalars", IN(TENSOR(BOOL, DIMS(), VALUES(0)), RANDOM(), RANDOM()), OUT(RANDOM())),     \
  CASE(OP, "several rows a sample", IN(TENSOR(BOOL, DIMS(2, 3), VALUES(0, 1, 1, 0, 1, 0)),         \
       RANDOM(2, 3), RANDOM(2, 3)), OUT(RANDOM(2, 3))),                                            \
  CASE(OP, "no elements", IN(TENSOR(BOOL, DIMS(0, 3)), RANDOM(0, 3), RANDOM(0, 3)),                \
       OUT(RANDOM(0, 3))),                                                                         \
  CASE(OP, "refused: types", IN(BOOLS(0, 1, 2, 0), RANDOM(4), TENSOR(I32, DIMS(4))),               \
       .refusal = "operands are float32 and int32"),                                               \
  CASE(OP, "refused: a number as condition", IN(RANDOM(4), RANDOM(4), RANDOM(4)),                  \
       .refusal = "is float32, wanted bool")

const OpCase choice_cases[] = {
  EITHER("SELECT"),
  CASE("SELECT", "rows", IN(TENSOR(BOOL, DIMS(2), VALUES(0, 1)),
          TENSOR(F32, DIMS(2, 2), VALUES(1, 2, 3, 4)), TENSOR(F32, DIMS(2, 2), VALUES(5, 6, 7, 8))),
       OUT(TENSOR(F32, DIMS(2, 2), VALUES(5, 6, 3, 4)))),
  CASE("SELECT", "rows of rank 3", IN(TENSOR(BOOL, DIMS(3), VALUES(0, 1, 0)), RANDOM(3, 2, 3),
          RANDOM(3, 2, 3)), OUT(RANDOM(3, 2, 3))),
  CASE("SELECT", "one row", IN(TENSOR(BOOL, DIMS(1), VALUES(0)), RANDOM(1, 3), RANDOM(1, 3)),
       OUT(RANDOM(1, 3))),
  CASE("SELECT", "refused: shapes", IN(BOOLS(0, 1, 2, 0), RANDOM(4), RANDOM(1)),
       .refusal = "of shape [4] and [1], wanted one shape"),
  CASE("SELECT", "refused: condition", IN(BOOLS(0, 1, 2, 0), RANDOM(2, 4), RANDOM(2, 4)),
       .refusal = "a condition of shape [4] for operands of shape [2,4]"),
  EITHER("SELECT_V2"),
  CASE("SELECT_V2", "columns", IN(TENSOR(BOOL, DIMS(2), VALUES(0, 1)),
          TENSOR(F32, DIMS(2, 2), VALUES(1, 2, 3, 4)), TENSOR(F32, DIMS(2, 2), VALUES(5, 6, 7, 8))),
       OUT(TENSOR(F32, DIMS(2, 2), VALUES(5, 2, 7, 4)))),
  CASE("SELECT_V2", "three ways", IN(TENSOR(BOOL, DIMS(2, 1, 1), VALUES(0, 1)), RANDOM(1, 3, 1),
          RANDOM(1, 1, 4)), OUT(RANDOM(2, 3, 4))),
  CASE("SELECT_V2", "a mask", IN(TENSOR(BOOL, DIMS(1, 1, 2, 2), VALUES(0, 1, 0, 0)),
          TENSOR(F32, DIMS(), VALUES(-1e9)), RANDOM(1, 3, 2, 2)), OUT(RANDOM(1, 3, 2, 2)),
       .no_numeric_grad = true),
  CASE("SELECT_V2", "rank 6", IN(TENSOR(BOOL, DIMS(1, 2, 1), VALUES(0, 1)),
          RANDOM(1, 2, 1, 1, 2, 1), RANDOM(2, 1, 2, 3)), OUT(RANDOM(1, 2, 2, 1, 2, 3))),
  CASE("SELECT_V2", "refused: shapes", IN(BOOLS(0, 1, 2, 0), RANDOM(3), RANDOM(1)),
       .refusal = "[4], [3] and [1] do not broadcast"),
  END_CASES};
