// SPDX-License-Identifier: Apache-2.0
// GATHER along an axis, GATHER_ND, EMBEDDING_LOOKUP: rows of a table picked by index, of any
// element type. Indices are data: one that is outside of the table picks zeros. The gradient adds
// the rows of dy to those they came from.
#include "kernels/move.h"
#include "kernels/pick.h"
#include "ops/bindings.h"

typedef struct {
  int32_t axis, batch_dims;
} GatherAttr;

typedef struct {
  PickShape shape; // of one sample
} PickAttr;

typedef struct {
  int x, index;
} Operands;

static Operands operands(const Node *n)
{
  bool lookup = n->op == op_by_name("EMBEDDING_LOOKUP");
  return (Operands){.x = lookup ? 1 : 0, .index = lookup ? 0 : 1};
}

static Status parse(const FbTable *options, void *attr, int *act, Diag *d)
{
  (void)act;
  (void)d;
  ((GatherAttr *)attr)->axis = fb_i32(*options, 0, 0);
  ((GatherAttr *)attr)->batch_dims = fb_i32(*options, 1, 0);
  return ST_OK;
}

static void append(Shape *s, const Shape *from, int begin, int end)
{
  for (int i = begin; i < end; ++i, ++s->rank)
    if (s->rank < MAX_RANK)
      s->dim[s->rank] = from->dim[i];
}

// GATHER: x [batch.., outer.., axis, inner..], index [batch.., count..]; EMBEDDING_LOOKUP is that
// with axis 0.
static Status read_gather(Infer *f, const Tensor *x, const Tensor *index, PickShape *s, Shape *y)
{
  const GatherAttr none = {0}, *a = f->node->op->attr_bytes ? f->node->attr : &none;
  const Shape *xs = &x->shape, *is = &index->shape;
  int axis, batch = a->batch_dims < 0 ? a->batch_dims + is->rank : a->batch_dims;
  if (!shape_axis(a->axis, xs->rank, &axis))
    return infer_fail(f, "axis %d is outside rank %d", a->axis, xs->rank);
  if (batch < 0 || batch > is->rank || batch > axis)
    return infer_fail(f, "batch_dims %d does not fit axis %d and indices of shape %s",
                      a->batch_dims, axis, shape_text(is).text);
  for (int i = 0; i < batch; ++i)
    if (xs->dim[i] != is->dim[i])
      return infer_fail(f, "shapes %s and %s differ in the first %d dimensions",
                        shape_text(xs).text, shape_text(is).text, batch);
  *y = (Shape){0};
  append(y, xs, 0, axis);
  append(y, is, batch, is->rank);
  append(y, xs, axis + 1, xs->rank);
  *s = (PickShape){.batch = shape_span(xs, 0, batch),
                   .outer = shape_span(xs, batch, axis),
                   .count = shape_span(is, batch, is->rank),
                   .inner = shape_span(xs, axis + 1, xs->rank),
                   .depth = 1,
                   .dim = {xs->dim[axis]}};
  return ST_OK;
}

// GATHER_ND: entries of the last dimension of the indices name an element of x, or a block.
static Status read_gather_nd(Infer *f, const Tensor *x, const Tensor *index, PickShape *s, Shape *y)
{
  const Shape *xs = &x->shape, *is = &index->shape;
  const int last = is->rank - 1;
  if (last < 0 || is->dim[last] > xs->rank)
    return infer_fail(f, "indices of shape %s do not fit an input of shape %s",
                      shape_text(is).text, shape_text(xs).text);
  const int depth = is->dim[last];
  *y = (Shape){0};
  append(y, is, 0, last);
  append(y, xs, depth, xs->rank);
  *s = (PickShape){.batch = 1,
                   .outer = 1,
                   .count = shape_span(is, 0, last),
                   .inner = shape_span(xs, depth, xs->rank),
                   .depth = depth};
  for (int i = 0; i < depth; ++i)
    s->dim[i] = xs->dim[i];
  return ST_OK;
}

// All of one sample: steps between samples are 0.
static Status read_pick(Infer *f, PickShape *s, Shape *y)
{
  const Operands o = operands(f->node);
  const Tensor *x = infer_in(f, o.x), *index = infer_in(f, o.index);
  if (index->dtype != DT_I32 && index->dtype != DT_I64)
    return infer_fail(f, "indices ('%s') are %s, wanted int32 or int64", index->name,
                      dtype_name(index->dtype));
  if (f->node->op == op_by_name("GATHER_ND"))
    TRY(read_gather_nd(f, x, index, s, y));
  else
    TRY(read_gather(f, x, index, s, y));
  s->wide = index->dtype == DT_I64;
  return ST_OK;
}

static Status infer(Infer *f)
{
  PickShape s;
  Shape y;
  TRY(read_pick(f, &s, &y));
  return infer_out(f, 0, infer_in(f, operands(f->node).x)->dtype, y);
}

// Whatever depends on the samples, all of them run as one: operands step on or stay.
static int64_t step(const Graph *g, int32_t tensor)
{
  const Tensor *t = &g->tensors[tensor];
  return t->batched ? shape_numel(&t->shape) : 0;
}

typedef struct {
  PickShape s;
  int32_t x, index, bytes;
} Args;

static void run(const void *args, const Call *c)
{
  const Args *a = args;
  pick_rows(&a->s, c->p[a->x], c->p[a->index], c->p[2], a->bytes, c->pool);
}

static Status bind(Bind *b)
{
  const Node *n = b->node;
  const Operands o = operands(n);
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  Infer f = infer_view(b->g, n, b->diag);
  Shape y;
  TRY(read_pick(&f, &a->s, &y));
  a->x = o.x;
  a->index = o.index;
  a->bytes = (int32_t)dtype_bytes(bind_type(b, o.x));
  a->s.samples = b->n;
  a->s.table_step = step(b->g, n->in[o.x]);
  a->s.index_step = step(b->g, n->in[o.index]);
  a->s.y_step = step(b->g, n->out[0]);
  b->run = run;
  return ST_OK;
}

static Status grad(Grad *g)
{
  const Node *n = grad_of(g);
  const Operands o = operands(n);
  Infer f = infer_view(grad_graph(g), n, NULL);
  PickAttr attr;
  Shape y;
  TRY(read_pick(&f, &attr.shape, &y));
  int32_t in[] = {grad_out(g, 0), n->in[o.index], n->in[o.x]};
  grad_give(g, o.x, grad_node(g, "PICK_GRAD", &attr, 3, in));
  return ST_OK;
}

// PICK_GRAD(dy, index, x) -> dx; x lends its shape. What the samples give to a table that they
// share is summed here.
static Status infer_grad(Infer *f)
{
  const Tensor *x = infer_in(f, 2);
  const bool shared = !x->batched;
  TRY(infer_out(f, 0, DT_F32, x->shape));
  if (shared)
    infer_unbatched(f, 0);
  return ST_OK;
}

typedef struct {
  PickShape s;
  int64_t n; // elements of dx, of all samples
} GradArgs;

static void run_grad(const void *args, const Call *c)
{
  static const float zero;
  const GradArgs *a = args;
  if (!c->accumulate)
    move_fill(c->p[3], &zero, a->n, sizeof zero, c->pool);
  pick_add(&a->s, c->p[0], c->p[1], c->p[3], c->pool);
}

static Status bind_grad(Bind *b)
{
  const Node *n = b->node;
  GradArgs *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  a->s = ((const PickAttr *)n->attr)->shape;
  a->s.samples = b->n;
  a->s.y_step = step(b->g, n->in[0]);
  a->s.index_step = step(b->g, n->in[1]);
  a->s.table_step = step(b->g, n->out[0]);
  a->n = shape_numel(&b->g->tensors[n->out[0]].shape) * (a->s.table_step ? b->n : 1);
  b->run = run_grad;
  return ST_OK;
}

const OpDef gather_ops[] = {
  {.name = "GATHER", .code = 36, .options = 23, .min_in = 2, .max_in = 2, .n_out = 1,
   .params = 1u << 0, .attr_bytes = sizeof(GatherAttr), .parse = parse, .infer = infer,
   .merge = merge_always, .bind = bind, .grad = grad},
  {.name = "GATHER_ND", .code = 107, .options = 83, .min_in = 2, .max_in = 2, .n_out = 1,
   .params = 1u << 0, .infer = infer, .merge = merge_always, .bind = bind, .grad = grad},
  {.name = "EMBEDDING_LOOKUP", .code = 7, .min_in = 2, .max_in = 2, .n_out = 1,
   .params = 1u << 1, .infer = infer, .merge = merge_always, .bind = bind, .grad = grad},
  {.name = "PICK_GRAD", .code = OP_NOT_IN_FILES, .flags = OP_ACCUMULATES, .shape_only = 1u << 2,
   .attr_bytes = sizeof(PickAttr), .infer = infer_grad, .merge = merge_always, .bind = bind_grad},
  END_OPS};

#define TABLE TENSOR(F32, DIMS(3, 2), VALUES(1, 2, 3, 4, 5, 6))
#define IDS(...) TENSOR(I32, DIMS(CASE_COUNT(double, __VA_ARGS__)), VALUES(__VA_ARGS__))

const OpCase gather_cases[] = {
  CASE("GATHER", "rows, one of them twice", IN(TABLE, IDS(2, 0, 2)),
       OUT(TENSOR(F32, DIMS(3, 2), VALUES(5, 6, 1, 2, 5, 6))), ATTR(GatherAttr, .axis = 0)),
  CASE("GATHER", "columns, options, int64",
       IN(TABLE, TENSOR(I64, DIMS(3), VALUES(1, 1, 0))),
       OUT(TENSOR(F32, DIMS(3, 3), VALUES(2, 2, 1, 4, 4, 3, 6, 6, 5))), OPTIONS(OPT_INT(0, -1))),
  CASE("GATHER", "outside: zeros", IN(TABLE, IDS(-1, 3, 1, 2147483647, -2147483648.0)),
       OUT(TENSOR(F32, DIMS(5, 2), VALUES(0, 0, 0, 0, 3, 4, 0, 0, 0, 0))),
       ATTR(GatherAttr, .axis = 0)),
  CASE("GATHER", "far outside: zeros",
       IN(TENSOR(I64, DIMS(2), VALUES(7, 8)), TENSOR(I64, DIMS(3), VALUES(4294967296.0, 1, -9e18))),
       OUT(TENSOR(I64, DIMS(3), VALUES(0, 8, 0))), ATTR(GatherAttr, .axis = 0)),
  CASE("GATHER", "a scalar", IN(TABLE, TENSOR(I32, DIMS(), VALUES(1))),
       OUT(TENSOR(F32, DIMS(2), VALUES(3, 4))), ATTR(GatherAttr, .axis = 0)),
  CASE("GATHER", "an element of a shape",
       IN(TENSOR(I32, DIMS(4), VALUES(7, 8, 9, 10)), TENSOR(I32, DIMS(), VALUES(3))),
       OUT(TENSOR(I32, DIMS(), VALUES(10))), ATTR(GatherAttr, .axis = 0)),
  CASE("GATHER", "bytes", IN(TENSOR(U8, DIMS(2, 2), VALUES(1, 2, 3, 4)), IDS(1)),
       OUT(TENSOR(U8, DIMS(2, 1), VALUES(2, 4))), ATTR(GatherAttr, .axis = 1)),
  CASE("GATHER", "truth", IN(TENSOR(BOOL, DIMS(3), VALUES(1, 0, 1)), IDS(2, 1)),
       OUT(TENSOR(BOOL, DIMS(2), VALUES(1, 0))), ATTR(GatherAttr, .axis = 0)),
  CASE("GATHER", "int16", IN(TENSOR(I16, DIMS(2), VALUES(-300, 300)), IDS(1, 0)),
       OUT(TENSOR(I16, DIMS(2), VALUES(300, -300))), ATTR(GatherAttr, .axis = 0)),
  CASE("GATHER", "batch_dims, options",
       IN(TABLE, TENSOR(I32, DIMS(3, 1), VALUES(1, 0, 1))),
       OUT(TENSOR(F32, DIMS(3, 1), VALUES(2, 3, 6))), OPTIONS(OPT_INT(0, 1), OPT_INT(1, 1))),
  CASE("GATHER", "negative batch_dims",
       IN(RANDOM(2, 3, 4), TENSOR(I32, DIMS(2, 2), VALUES(3, 0, 1, 1))), OUT(RANDOM(2, 3, 2)),
       ATTR(GatherAttr, .axis = 2, .batch_dims = -1)),
  CASE("GATHER", "tokens", IN(RANDOM(7, 3), TENSOR(I32, DIMS(1, 5), VALUES(6, 2, 2, 0, 6))),
       OUT(RANDOM(1, 5, 3)), ATTR(GatherAttr, .axis = 0)),
  CASE("GATHER", "wide rows", IN(RANDOM(3, 70), TENSOR(I64, DIMS(1, 4), VALUES(1, 0, 1, 2))),
       OUT(RANDOM(1, 4, 70)), ATTR(GatherAttr, .axis = 0)),
  CASE("GATHER", "between", IN(RANDOM(1, 4, 3), TENSOR(I32, DIMS(2, 2), VALUES(3, 0, 1, 1))),
       OUT(RANDOM(1, 2, 2, 3)), ATTR(GatherAttr, .axis = 1)),
  CASE("GATHER", "the batch of a sample", IN(RANDOM(3, 2), IDS(2, 0)), OUT(RANDOM(2, 2)),
       ATTR(GatherAttr, .axis = 0)),
  CASE("GATHER", "batch, outer and inner",
       IN(RANDOM(2, 3, 4, 2), TENSOR(I32, DIMS(2, 3), VALUES(0, 3, 3, 1, 2, 1))),
       OUT(RANDOM(2, 3, 3, 2)), ATTR(GatherAttr, .axis = 2, .batch_dims = 1)),
  CASE("GATHER", "no index", IN(RANDOM(3, 2), TENSOR(I32, DIMS(0))), OUT(RANDOM(0, 2)),
       ATTR(GatherAttr, .axis = 0)),
  CASE("GATHER", "of nothing", IN(TENSOR(F32, DIMS(0, 2)), IDS(0)),
       OUT(TENSOR(F32, DIMS(1, 2), VALUES(0, 0))), ATTR(GatherAttr, .axis = 0)),
  CASE("GATHER", "refused: axis", IN(TABLE, IDS(0)), ATTR(GatherAttr, .axis = 2),
       .refusal = "axis 2 is outside rank 2"),
  CASE("GATHER", "refused: of a scalar", IN(RANDOM(), IDS(0)), ATTR(GatherAttr, .axis = 0),
       .refusal = "axis 0 is outside rank 0"),
  CASE("GATHER", "refused: float indices", IN(TABLE, RANDOM(2)), ATTR(GatherAttr, .axis = 0),
       .refusal = "are float32, wanted int32 or int64"),
  CASE("GATHER", "refused: batch_dims behind the axis",
       IN(TABLE, TENSOR(I32, DIMS(3, 2, 1))), ATTR(GatherAttr, .axis = 0, .batch_dims = 1),
       .refusal = "batch_dims 1 does not fit axis 0"),
  CASE("GATHER", "refused: batch_dims of indices", IN(TABLE, IDS(0)),
       ATTR(GatherAttr, .axis = 1, .batch_dims = -2), .refusal = "batch_dims -2 does not fit"),
  CASE("GATHER", "refused: batches", IN(TABLE, IDS(0, 1)),
       ATTR(GatherAttr, .axis = 1, .batch_dims = 1),
       .refusal = "[3,2] and [2] differ in the first 1 dimensions"),
  CASE("GATHER", "refused: rank 9", IN(RANDOM(1, 1, 1, 1, 1, 1, 1), TENSOR(I32, DIMS(1, 1, 1))),
       ATTR(GatherAttr, .axis = 0), .refusal = "rank 9"),
  CASE("GATHER_ND", "elements", IN(TABLE, TENSOR(I32, DIMS(3, 2), VALUES(2, 1, 0, 0, 2, 1))),
       OUT(TENSOR(F32, DIMS(3), VALUES(6, 1, 6)))),
  CASE("GATHER_ND", "rows, int64, one outside",
       IN(TENSOR(I32, DIMS(2, 2), VALUES(1, 2, 3, 4)), TENSOR(I64, DIMS(2, 1), VALUES(1, -1))),
       OUT(TENSOR(I32, DIMS(2, 2), VALUES(3, 4, 0, 0)))),
  CASE("GATHER_ND", "outside in one of two", IN(TABLE, TENSOR(I32, DIMS(2, 2), VALUES(0, 2, 3, 0))),
       OUT(TENSOR(F32, DIMS(2), VALUES(0, 0)))),
  CASE("GATHER_ND", "one element", IN(TABLE, IDS(1, 0)), OUT(TENSOR(F32, DIMS(), VALUES(3)))),
  CASE("GATHER_ND", "all of it", IN(TABLE, TENSOR(I32, DIMS(2, 0))), OUT(RANDOM(2, 3, 2))),
  CASE("GATHER_ND", "blocks of an image",
       IN(RANDOM(1, 3, 4, 2), TENSOR(I32, DIMS(2, 2, 2), VALUES(0, 1, 0, 2, 0, 1, 0, 0))),
       OUT(RANDOM(2, 2, 4, 2))),
  CASE("GATHER_ND", "several rows a sample",
       IN(RANDOM(3, 4), TENSOR(I32, DIMS(2, 2), VALUES(2, 3, 2, 3))), OUT(RANDOM(2))),
  CASE("GATHER_ND", "refused: too deep", IN(TABLE, IDS(0, 0, 0)),
       .refusal = "indices of shape [3] do not fit an input of shape [3,2]"),
  CASE("GATHER_ND", "refused: a scalar index", IN(TABLE, TENSOR(I32, DIMS())),
       .refusal = "indices of shape [] do not fit"),
  CASE("GATHER_ND", "refused: types", IN(TABLE, TENSOR(U8, DIMS(1))), .refusal = "are uint8"),
  CASE("EMBEDDING_LOOKUP", "words", IN(IDS(2, 0, 2), TABLE),
       OUT(TENSOR(F32, DIMS(3, 2), VALUES(5, 6, 1, 2, 5, 6)))),
  CASE("EMBEDDING_LOOKUP", "int8, one outside", IN(IDS(1, 2), TENSOR(I8, DIMS(2, 1), VALUES(-1,
          -2))), OUT(TENSOR(I8, DIMS(2, 1), VALUES(-2, 0)))),
  CASE("EMBEDDING_LOOKUP", "of rank 3", IN(IDS(3, 3, 1), RANDOM(4, 2, 3)), OUT(RANDOM(3, 2, 3))),
  CASE("EMBEDDING_LOOKUP", "refused: a scalar", IN(IDS(0), RANDOM()),
       .refusal = "axis 0 is outside rank 0"),
  END_CASES};
