// SPDX-License-Identifier: Apache-2.0
// TILE and BROADCAST_TO: a tensor over and over again. The gradient is the sum over the copies.
#include "ops/attrs.h"
#include "ops/bindings.h"
#include "ops/views.h"

static Status read_tile(Infer *f, Arena *arena, View *v)
{
  const Shape *x = &v->from;
  int64_t times[MAX_RANK], from[MAX_RANK], to[MAX_RANK];
  int n = 0;
  TRY(infer_ints(f, 1, times, MAX_RANK, &n));
  if (n != x->rank)
    return infer_fail(f, "%d multiples for an input of shape %s", n, shape_text(x).text);
  v->to = *x;
  for (int i = 0; i < n; ++i) {
    int64_t dim = 0;
    if (times[i] < 0 || __builtin_mul_overflow(times[i], (int64_t)x->dim[i], &dim) ||
        dim > INT32_MAX || times[i] > INT32_MAX)
      return infer_fail(f, "multiple %lld of dimension %d of shape %s is out of range",
                        (long long)times[i], i, shape_text(x).text);
    v->to.dim[i] = (int32_t)dim;
  }
  if (!arena)
    return ST_OK;
  // Every dimension is two: which copy, which element.
  Piece p = {.src = 0};
  shape_strides(x, from);
  shape_strides(&v->to, to);
  for (int i = 0; i < n; ++i) {
    MoveShape *m = &p.move;
    m->dim[m->rank] = times[i];
    m->src_stride[m->rank] = 0;
    m->dst_stride[m->rank++] = to[i] * x->dim[i];
    m->dim[m->rank] = x->dim[i];
    m->src_stride[m->rank] = from[i];
    m->dst_stride[m->rank++] = to[i];
  }
  return view_of_piece(f->diag, arena, &p, v);
}

static Status read_broadcast(Infer *f, Arena *arena, View *v)
{
  const Shape *x = &v->from;
  int64_t dims[MAX_RANK], from[MAX_RANK];
  TRY(infer_ints(f, 1, dims, MAX_RANK, &v->to.rank));
  const int lead = v->to.rank - x->rank;
  Piece p = {.move = {.rank = v->to.rank}};
  shape_strides(x, from);
  for (int i = 0; i < v->to.rank; ++i) {
    if (dims[i] < 0 || dims[i] > INT32_MAX)
      return infer_fail(f, "dimension %d of the target is %lld", i, (long long)dims[i]);
    p.move.dim[i] = v->to.dim[i] = (int32_t)dims[i];
    p.move.src_stride[i] = i < lead || x->dim[i - lead] == 1 ? 0 : from[i - lead];
  }
  bool fits = lead >= 0;
  for (int i = 0; fits && i < x->rank; ++i)
    fits = x->dim[i] == 1 || x->dim[i] == v->to.dim[lead + i];
  if (!fits)
    return infer_fail(f, "input of shape %s does not broadcast to %s", shape_text(x).text,
                      shape_text(&v->to).text);
  shape_strides(&v->to, p.move.dst_stride);
  return view_of_piece(f->diag, arena, &p, v);
}

static Status infer_tile(Infer *f)
{
  return view_infer(f, read_tile);
}

static Status infer_broadcast(Infer *f)
{
  return view_infer(f, read_broadcast);
}

static Status bind_tile(Bind *b)
{
  return view_bind(b, read_tile, 0, -1);
}

static Status bind_broadcast(Bind *b)
{
  return view_bind(b, read_broadcast, 0, -1);
}

// dx = dy summed over the copies, axis by axis: [before, copies, element and behind]
static Status grad_tile(Grad *g)
{
  const Node *n = grad_of(g);
  const Shape x = grad_tensor(g, n->in[0])->shape;
  Shape s = grad_tensor(g, n->out[0])->shape;
  int64_t times[MAX_RANK];
  int count = 0;
  Infer f = infer_view(grad_graph(g), n, NULL);
  TRY(infer_ints(&f, 1, times, MAX_RANK, &count));
  int32_t t = grad_out(g, 0);
  for (int i = 0; i < x.rank; ++i) {
    if (times[i] == 1)
      continue;
    s.dim[i] = x.dim[i];
    const int64_t before = shape_span(&s, 0, i), behind = shape_span(&s, i, s.rank);
    if (before > INT32_MAX || behind > INT32_MAX)
      return grad_fail(g, "shape %s is too large", shape_text(&x).text);
    ReshapeToAttr cut = {
      .shape = {.rank = 3, .dim = {(int32_t)before, (int32_t)times[i], (int32_t)behind}}};
    t = grad_node(g, "RESHAPE_TO", &cut, 1, &t);
    SumToAttr sum = {.shape = cut.shape};
    sum.shape.dim[1] = 1;
    t = grad_node(g, "SUM_TO", &sum, 1, &t);
  }
  if (t != grad_out(g, 0))
    t = grad_node(g, "RESHAPE_TO", &(ReshapeToAttr){.shape = x}, 1, &t);
  grad_give(g, 0, t);
  return ST_OK;
}

static Status grad_broadcast(Grad *g)
{
  grad_give_reduced(g, 0, grad_out(g, 0));
  return ST_OK;
}

const OpDef repeat_ops[] = {
  {.name = "TILE", .code = 69, .options = 51, .min_in = 2, .max_in = 2, .n_out = 1,
   .infer = infer_tile, .merge = merge_always, .bind = bind_tile, .grad = grad_tile},
  {.name = "BROADCAST_TO", .code = 130, .options = 104, .min_in = 2, .max_in = 2, .n_out = 1,
   .infer = infer_broadcast, .merge = merge_always, .bind = bind_broadcast,
   .grad = grad_broadcast},
  END_OPS};

#define X TENSOR(F32, DIMS(2, 2), VALUES(1, 2, 3, 4))

const OpCase repeat_cases[] = {
  CASE("TILE", "columns", IN(X, INTS(1, 2)),
       OUT(TENSOR(F32, DIMS(2, 4), VALUES(1, 2, 1, 2, 3, 4, 3, 4)))),
  CASE("TILE", "rows, int64", IN(TENSOR(I64, DIMS(1, 2), VALUES(1, -2)), CONSTANT(I64, DIMS(2),
          VALUES(3, 1))), OUT(TENSOR(I64, DIMS(3, 2), VALUES(1, -2, 1, -2, 1, -2)))),
  CASE("TILE", "both ways", IN(X, INTS(2, 2)), OUT(TENSOR(F32, DIMS(4, 4), VALUES(1, 2, 1, 2, 3,
          4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4)))),
  CASE("TILE", "truth", IN(TENSOR(BOOL, DIMS(2), VALUES(1, 0)), INTS(2)),
       OUT(TENSOR(BOOL, DIMS(4), VALUES(1, 0, 1, 0)))),
  CASE("TILE", "upsampling by rows and columns", IN(RANDOM(1, 2, 1, 3, 1, 2),
          INTS(1, 1, 2, 1, 2, 1)), OUT(RANDOM(1, 2, 2, 3, 2, 2))),
  CASE("TILE", "once", IN(RANDOM(2, 3), INTS(1, 1)), OUT(RANDOM(2, 3))),
  CASE("TILE", "never", IN(RANDOM(2, 3), INTS(1, 0)), OUT(RANDOM(2, 0))),
  CASE("TILE", "a scalar", IN(RANDOM(), CONSTANT(I32, DIMS(0))), OUT(RANDOM())),
  CASE("TILE", "the batch", IN(RANDOM(1, 3), INTS(2, 1)), OUT(RANDOM(2, 3))),
  CASE("TILE", "several rows a sample", IN(RANDOM(2, 3), INTS(2, 2)), OUT(RANDOM(4, 6))),
  CASE("TILE", "rank 8, all of it", IN(RANDOM(2, 1, 2, 1, 2, 1, 2, 1),
          INTS(2, 1, 2, 2, 1, 1, 2, 2)), OUT(RANDOM(4, 1, 4, 2, 2, 1, 4, 2))),
  CASE("TILE", "refused: count", IN(X, INTS(2)),
       .refusal = "1 multiples for an input of shape [2,2]"),
  CASE("TILE", "refused: negative", IN(X, INTS(1, -1)),
       .refusal = "multiple -1 of dimension 1 of shape [2,2]"),
  CASE("TILE", "refused: huge", IN(X, CONSTANT(I64, DIMS(2), VALUES(1, 9e18))),
       .refusal = "is out of range"),
  CASE("TILE", "refused: not constant", IN(X, TENSOR(I32, DIMS(2))),
       .refusal = "must be constant"),
  CASE("BROADCAST_TO", "a row", IN(TENSOR(F32, DIMS(2), VALUES(1, 2)), INTS(2, 2)),
       OUT(TENSOR(F32, DIMS(2, 2), VALUES(1, 2, 1, 2)))),
  CASE("BROADCAST_TO", "a column of bytes, int64",
       IN(TENSOR(I8, DIMS(2, 1), VALUES(-1, 2)), CONSTANT(I64, DIMS(3), VALUES(2, 2, 2))),
       OUT(TENSOR(I8, DIMS(2, 2, 2), VALUES(-1, -1, 2, 2, -1, -1, 2, 2)))),
  CASE("BROADCAST_TO", "a scalar", IN(RANDOM(), INTS(2, 3)), OUT(RANDOM(2, 3))),
  CASE("BROADCAST_TO", "between", IN(RANDOM(1, 2, 1, 3), INTS(1, 2, 4, 3)),
       OUT(RANDOM(1, 2, 4, 3))),
  CASE("BROADCAST_TO", "the batch", IN(RANDOM(1, 3), INTS(4, 3)), OUT(RANDOM(4, 3))),
  CASE("BROADCAST_TO", "before the batch", IN(RANDOM(1, 3), INTS(2, 1, 3)), OUT(RANDOM(2, 1, 3))),
  CASE("BROADCAST_TO", "to nothing", IN(RANDOM(1, 3), INTS(0, 3)), OUT(RANDOM(0, 3))),
  CASE("BROADCAST_TO", "to itself", IN(RANDOM(2, 3), INTS(2, 3)), OUT(RANDOM(2, 3))),
  CASE("BROADCAST_TO", "refused: shape", IN(X, INTS(2, 3)),
       .refusal = "input of shape [2,2] does not broadcast to [2,3]"),
  CASE("BROADCAST_TO", "refused: rank", IN(X, INTS(2)), .refusal = "does not broadcast to [2]"),
  CASE("BROADCAST_TO", "refused: negative", IN(X, INTS(-1, 2)),
       .refusal = "dimension 0 of the target is -1"),
  END_CASES};
