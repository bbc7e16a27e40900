// SPDX-License-Identifier: Apache-2.0
// CONCATENATION along an axis, and PACK, which makes a new one, of any element type. Their
// gradients are the slices of dy. JOIN, which makes the gradient of SPLIT and its like.
#include "ops/attrs.h"
#include "ops/views.h"

typedef struct {
  int32_t axis;
  int32_t count; // PACK: how many inputs the file says it has
} ConcatAttr;

static Status parse_concat(const FbTable *options, void *attr, int *act, Diag *d)
{
  (void)d;
  ((ConcatAttr *)attr)->axis = fb_i32(*options, 0, 0);
  *act = fb_i8(*options, 1, 0);
  return ST_OK;
}

static Status parse_pack(const FbTable *options, void *attr, int *act, Diag *d)
{
  (void)act;
  (void)d;
  ((ConcatAttr *)attr)->count = fb_i32(*options, 0, 0);
  ((ConcatAttr *)attr)->axis = fb_i32(*options, 1, 0);
  return ST_OK;
}

static Status infer_concat(Infer *f)
{
  const Tensor *first = infer_in(f, 0);
  Shape out = first->shape;
  int axis;
  if (!shape_axis(((const ConcatAttr *)f->node->attr)->axis, out.rank, &axis))
    return infer_fail(f, "axis %d is outside rank %d", ((const ConcatAttr *)f->node->attr)->axis,
                      out.rank);
  int64_t total = out.dim[axis];
  for (int i = 1; i < f->node->n_in; ++i) {
    const Tensor *t = infer_in(f, i);
    bool fits = t->dtype == first->dtype && t->shape.rank == out.rank;
    for (int k = 0; fits && k < out.rank; ++k)
      fits = k == axis || t->shape.dim[k] == out.dim[k];
    if (!fits)
      return infer_fail(f, "input %d is %s %s, input 0 %s %s; only axis %d may differ", i,
                        dtype_name(t->dtype), shape_text(&t->shape).text,
                        dtype_name(first->dtype), shape_text(&first->shape).text, axis);
    total += t->shape.dim[axis];
  }
  if (total > INT32_MAX)
    return infer_fail(f, "the result would be too large along axis %d", axis);
  out.dim[axis] = (int32_t)total;
  return infer_out(f, 0, first->dtype, out);
}

static Status infer_pack(Infer *f)
{
  const ConcatAttr *a = f->node->attr;
  const Tensor *first = infer_in(f, 0);
  Shape out = first->shape;
  int axis;
  if (out.rank == MAX_RANK || !shape_axis(a->axis, out.rank + 1, &axis))
    return infer_fail(f, "axis %d is outside rank %d", a->axis, out.rank + 1);
  if (a->count && a->count != f->node->n_in)
    return infer_fail(f, "values_count is %d, there are %d inputs", a->count, f->node->n_in);
  for (int i = 1; i < f->node->n_in; ++i) {
    const Tensor *t = infer_in(f, i);
    if (t->dtype != first->dtype || !shape_equal(&t->shape, &first->shape))
      return infer_fail(f, "input %d is %s %s, input 0 %s %s", i, dtype_name(t->dtype),
                        shape_text(&t->shape).text, dtype_name(first->dtype),
                        shape_text(&first->shape).text);
  }
  for (int k = out.rank; k > axis; --k)
    out.dim[k] = out.dim[k - 1];
  out.dim[axis] = f->node->n_in;
  ++out.rank;
  return infer_out(f, 0, first->dtype, out);
}

// The axis in the output, and what each input takes along it.
static int axis_of(const Graph *g, const Node *n)
{
  int axis = 0;
  shape_axis(((const ConcatAttr *)n->attr)->axis, g->tensors[n->out[0]].shape.rank, &axis);
  return axis;
}

static void extents(const Graph *g, const Node *n, int axis, int32_t *extent)
{
  bool pack = n->op == op_by_name("PACK");
  for (int i = 0; i < n->n_in; ++i)
    extent[i] = pack ? 1 : g->tensors[n->in[i]].shape.dim[axis];
}

static bool all_batched(const Graph *g, const Node *n)
{
  for (int i = 0; i < n->n_in; ++i)
    if (n->in[i] >= 0 && !g->tensors[n->in[i]].batched)
      return false;
  return true;
}

typedef struct {
  int32_t n;
  Piece *piece;
} Args;

static bool merge(const Graph *g, const Node *n)
{
  return all_batched(g, n) && axis_of(g, n) != 0;
}

static void run(const void *args, const Call *c)
{
  const Args *a = args;
  for (int32_t i = 0; i < a->n; ++i)
    piece_run(&a->piece[i], c->p[i], c->p[a->n], false, c->pool);
}

static Status bind(Bind *b)
{
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  int32_t extent[OP_MAX_OPERANDS];
  int axis = axis_of(b->g, b->node);
  extents(b->g, b->node, axis, extent);
  Shape whole = bind_out(b, 0);
  a->n = b->node->n_in;
  b->run = run;
  return parts_bind(b, &whole, axis, extent, a->n, false, bind_type(b, 0), &a->piece);
}

static Status grad(Grad *g)
{
  const Node *n = grad_of(g);
  const Graph *graph = grad_graph(g);
  int32_t extent[OP_MAX_OPERANDS];
  int axis = axis_of(graph, n);
  extents(graph, n, axis, extent);
  View v = {.from = grad_tensor(g, n->out[0])->shape};
  Box box = box_whole(&v.from);
  for (int i = 0; i < n->n_in; ++i) {
    v.to = grad_tensor(g, n->in[i])->shape;
    box.count[axis] = extent[i];
    if (grad_wants(g, i)) {
      Piece p = box_read(&box, &v.from);
      if (view_of_piece(NULL, graph->arena, &p, &v) != ST_OK)
        return grad_fail(g, "out of memory");
      grad_give(g, i, view_node(g, &v, grad_out(g, 0)));
    }
    box.begin[axis] += extent[i];
  }
  return ST_OK;
}

// JOIN(part, ..) -> the whole; zeros stand for parts that are absent
static Status infer_join(Infer *f)
{
  return infer_out(f, 0, DT_F32, ((const JoinAttr *)f->node->attr)->whole);
}

static bool merge_join(const Graph *g, const Node *n)
{
  return all_batched(g, n) && ((const JoinAttr *)n->attr)->axis != 0;
}

static void run_join(const void *args, const Call *c)
{
  static const float zero;
  const Args *a = args;
  for (int32_t i = 0; i < a->n; ++i)
    if (c->p[i] || !c->accumulate)
      piece_run(&a->piece[i], c->p[i] ? c->p[i] : &zero, c->p[a->n], c->accumulate, c->pool);
}

static Status bind_join(Bind *b)
{
  const JoinAttr *attr = b->node->attr;
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  Shape whole = bind_out(b, 0);
  a->n = b->node->n_in;
  TRY(parts_bind(b, &whole, attr->axis, attr->extent, a->n, false, DT_F32, &a->piece));
  for (int i = 0; i < a->n; ++i)
    if (b->node->in[i] < 0)
      for (int k = 0; k < a->piece[i].move.rank; ++k)
        a->piece[i].move.src_stride[k] = 0;
  b->run = run_join;
  return ST_OK;
}

const OpDef concat_ops[] = {
  {.name = "CONCATENATION", .code = 2, .options = 10, .min_in = 1, .max_in = 255, .n_out = 1,
   .attr_bytes = sizeof(ConcatAttr), .parse = parse_concat, .infer = infer_concat, .merge = merge,
   .bind = bind, .grad = grad},
  {.name = "PACK", .code = 83, .options = 59, .min_in = 1, .max_in = 255, .n_out = 1,
   .attr_bytes = sizeof(ConcatAttr), .parse = parse_pack, .infer = infer_pack, .merge = merge,
   .bind = bind, .grad = grad},
  {.name = "JOIN", .code = OP_NOT_IN_FILES, .flags = OP_ACCUMULATES,
   .attr_bytes = sizeof(JoinAttr), .infer = infer_join, .merge = merge_join, .bind = bind_join},
  END_OPS};

const OpCase concat_cases[] = {
  CASE("CONCATENATION", "rows",
       IN(TENSOR(F32, DIMS(1, 2), VALUES(1, 2)), TENSOR(F32, DIMS(2, 2), VALUES(3, 4, 5, 6))),
       OUT(TENSOR(F32, DIMS(3, 2), VALUES(1, 2, 3, 4, 5, 6))), ATTR(ConcatAttr, .axis = 0)),
  CASE("CONCATENATION", "options, a negative axis",
       IN(TENSOR(F32, DIMS(2, 1), VALUES(1, 2)), TENSOR(F32, DIMS(2, 2), VALUES(3, 4, 5, 6))),
       OUT(TENSOR(F32, DIMS(2, 3), VALUES(1, 3, 4, 2, 5, 6))), OPTIONS(OPT_INT(0, -1))),
  CASE("CONCATENATION", "int32",
       IN(TENSOR(I32, DIMS(2), VALUES(1, -2)), CONSTANT(I32, DIMS(1), VALUES(3))),
       OUT(TENSOR(I32, DIMS(3), VALUES(1, -2, 3))), ATTR(ConcatAttr, .axis = 0)),
  CASE("CONCATENATION", "channels of three",
       IN(RANDOM(1, 2, 3, 2), RANDOM(1, 2, 3, 1), RANDOM(1, 2, 3, 4)), OUT(RANDOM(1, 2, 3, 7)),
       ATTR(ConcatAttr, .axis = 3)),
  CASE("CONCATENATION", "class token", IN(RANDOM(1, 1, 4), RANDOM(1, 3, 4)), OUT(RANDOM(1, 4, 4)),
       ATTR(ConcatAttr, .axis = 1)),
  CASE("CONCATENATION", "the batch", IN(RANDOM(1, 3), RANDOM(1, 3)), OUT(RANDOM(2, 3)),
       ATTR(ConcatAttr, .axis = 0)),
  CASE("CONCATENATION", "several rows a sample", IN(RANDOM(2, 3), RANDOM(2, 1)), OUT(RANDOM(2, 4)),
       ATTR(ConcatAttr, .axis = -1)),
  CASE("CONCATENATION", "one", IN(RANDOM(2, 3)), OUT(RANDOM(2, 3)), ATTR(ConcatAttr, .axis = 1)),
  CASE("CONCATENATION", "an empty one", IN(RANDOM(1, 0), RANDOM(1, 2)), OUT(RANDOM(1, 2)),
       ATTR(ConcatAttr, .axis = 1)),
  CASE("CONCATENATION", "refused: axis", IN(RANDOM(1, 3), RANDOM(1, 3)),
       ATTR(ConcatAttr, .axis = 2), .refusal = "axis 2 is outside rank 2"),
  CASE("CONCATENATION", "refused: shapes", IN(RANDOM(1, 3), RANDOM(2, 3)),
       ATTR(ConcatAttr, .axis = 1), .refusal = "only axis 1 may differ"),
  CASE("CONCATENATION", "refused: types", IN(RANDOM(1), TENSOR(I32, DIMS(1))),
       ATTR(ConcatAttr, .axis = 0), .refusal = "input 1 is int32 [1], input 0 float32 [1]"),
  CASE("PACK", "first", IN(TENSOR(F32, DIMS(2), VALUES(1, 2)), TENSOR(F32, DIMS(2), VALUES(3, 4))),
       OUT(TENSOR(F32, DIMS(2, 2), VALUES(1, 2, 3, 4))), ATTR(ConcatAttr, .axis = 0)),
  CASE("PACK", "options, last",
       IN(TENSOR(I64, DIMS(2), VALUES(1, 2)), TENSOR(I64, DIMS(2), VALUES(3, 4))),
       OUT(TENSOR(I64, DIMS(2, 2), VALUES(1, 3, 2, 4))), OPTIONS(OPT_INT(0, 2), OPT_INT(1, -1))),
  CASE("PACK", "scalars", IN(TENSOR(I32, DIMS(), VALUES(1)), CONSTANT(I32, DIMS(), VALUES(-1))),
       OUT(TENSOR(I32, DIMS(2), VALUES(1, -1))), ATTR(ConcatAttr, .count = 2)),
  CASE("PACK", "bytes",
       IN(TENSOR(I8, DIMS(1, 2), VALUES(1, -2)), TENSOR(I8, DIMS(1, 2), VALUES(3, 4))),
       OUT(TENSOR(I8, DIMS(1, 2, 2), VALUES(1, 3, -2, 4))), ATTR(ConcatAttr, .axis = -1)),
  CASE("PACK", "truth",
       IN(TENSOR(BOOL, DIMS(2), VALUES(1, 0)), TENSOR(BOOL, DIMS(2), VALUES(0, 1))),
       OUT(TENSOR(BOOL, DIMS(2, 2), VALUES(1, 0, 0, 1))), ATTR(ConcatAttr, .count = 2)),
  CASE("PACK", "int16", IN(TENSOR(I16, DIMS(1), VALUES(-300)), TENSOR(I16, DIMS(1), VALUES(300))),
       OUT(TENSOR(I16, DIMS(1, 2), VALUES(-300, 300))), ATTR(ConcatAttr, .axis = 1)),
  CASE("PACK", "between", IN(RANDOM(1, 3, 2), RANDOM(1, 3, 2), RANDOM(1, 3, 2)),
       OUT(RANDOM(1, 3, 3, 2)), ATTR(ConcatAttr, .axis = 1)),
  CASE("PACK", "before the batch", IN(RANDOM(1, 3), RANDOM(1, 3)), OUT(RANDOM(2, 1, 3)),
       ATTR(ConcatAttr, .axis = 0)),
  CASE("PACK", "refused: axis", IN(RANDOM(2)), ATTR(ConcatAttr, .axis = 2),
       .refusal = "axis 2 is outside rank 2"),
  CASE("PACK", "refused: count", IN(RANDOM(2)), ATTR(ConcatAttr, .count = 3),
       .refusal = "values_count is 3, there are 1 inputs"),
  CASE("PACK", "refused: shapes", IN(RANDOM(2), RANDOM(3)), ATTR(ConcatAttr, .count = 2),
       .refusal = "input 1 is float32 [3], input 0 float32 [2]"),
  END_CASES};
