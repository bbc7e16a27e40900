// SPDX-License-Identifier: Apache-2.0
// DYNAMIC_UPDATE_SLICE(x, update, start): x with a box of it replaced. Where the box begins is
// data; it is moved so far that it lies inside.
#include "ops/bindings.h"
#include "ops/boxes.h"

typedef struct {
  Shape whole, part; // x and update, one sample's
} SliceAttr;

static Status infer(Infer *f)
{
  const Tensor *x = infer_in(f, 0), *update = infer_in(f, 1), *start = infer_in(f, 2);
  bool fits = x->dtype == update->dtype && x->shape.rank == update->shape.rank;
  for (int i = 0; fits && i < x->shape.rank; ++i)
    fits = update->shape.dim[i] <= x->shape.dim[i];
  if (!fits)
    return infer_fail(f, "an update of %s %s does not fit into %s %s", dtype_name(update->dtype),
                      shape_text(&update->shape).text, dtype_name(x->dtype),
                      shape_text(&x->shape).text);
  if ((start->dtype != DT_I32 && start->dtype != DT_I64) || start->shape.rank != 1 ||
      start->shape.dim[0] != x->shape.rank)
    return infer_fail(f, "the start is %s of shape %s, wanted %d int32 or int64",
                      dtype_name(start->dtype), shape_text(&start->shape).text, x->shape.rank);
  return infer_out(f, 0, x->dtype, x->shape);
}

typedef struct {
  Piece piece;  // from the part to the whole at the first element, or back
  int64_t step[MAX_RANK], room[MAX_RANK]; // strides of the whole; how far the box may begin
  int64_t n;    // elements of the whole
  int32_t rank, bytes;
  bool wide;
} Args;

// Elements from the first of the whole to the first of the box.
static int64_t begin_of(const Args *a, const void *start)
{
  int64_t at = 0;
  for (int i = 0; i < a->rank; ++i) {
    int64_t v = a->wide ? ((const int64_t *)start)[i] : ((const int32_t *)start)[i];
    at += a->step[i] * (v < 0 ? 0 : v > a->room[i] ? a->room[i] : v);
  }
  return at;
}

static Args *make_args(Bind *b, const SliceAttr *s, int start, bool to_part)
{
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return NULL;
  Box box = box_whole(&s->part);
  a->piece = to_part ? box_read(&box, &s->whole) : box_write(&box, &s->whole);
  a->rank = s->whole.rank;
  a->n = shape_numel(&s->whole);
  a->bytes = a->piece.move.element_bytes = (int32_t)dtype_bytes(bind_type(b, 0));
  a->wide = bind_type(b, start) == DT_I64;
  shape_strides(&s->whole, a->step);
  for (int i = 0; i < a->rank; ++i)
    a->room[i] = s->whole.dim[i] - s->part.dim[i];
  return a;
}

static void copy_whole(const Args *a, const void *x, void *y, bool add, Pool *pool)
{
  const Piece all = {.move = {1, {a->n}, {1}, {1}, a->bytes}};
  piece_run(&all, x, y, add, pool);
}

static void run(const void *args, const Call *c)
{
  const Args *a = args;
  Piece p = a->piece;
  p.dst = begin_of(a, c->p[2]);
  copy_whole(a, c->p[0], c->p[3], false, c->pool);
  piece_run(&p, c->p[1], c->p[3], false, c->pool);
}

static SliceAttr shapes(const Graph *g, const Node *n)
{
  return (SliceAttr){g->tensors[n->in[0]].shape, g->tensors[n->in[1]].shape};
}

static Status bind(Bind *b)
{
  const SliceAttr s = shapes(b->g, b->node);
  b->run = run;
  return make_args(b, &s, 2, false) ? ST_OK : diag_oom(b->diag);
}

// dx = dy with zeros in the box, d(update) = what dy has there
static Status grad(Grad *g)
{
  const Node *n = grad_of(g);
  const SliceAttr s = shapes(grad_graph(g), n);
  const int32_t in[] = {grad_out(g, 0), n->in[2]};
  if (grad_wants(g, 0))
    grad_give(g, 0, grad_node(g, "SLICE_REST", &s, 2, in));
  if (grad_wants(g, 1))
    grad_give(g, 1, grad_node(g, "SLICE_PART", &s, 2, in));
  return ST_OK;
}

// SLICE_REST(dy, start)
static Status infer_rest(Infer *f)
{
  return infer_out(f, 0, DT_F32, ((const SliceAttr *)f->node->attr)->whole);
}

static void run_rest(const void *args, const Call *c)
{
  static const float zero;
  const Args *a = args;
  Piece p = a->piece;
  p.dst = begin_of(a, c->p[1]);
  for (int32_t i = 0; i < p.move.rank; ++i)
    p.move.src_stride[i] = 0;
  copy_whole(a, c->p[0], c->p[2], false, c->pool);
  piece_run(&p, &zero, c->p[2], false, c->pool);
}

static Status bind_rest(Bind *b)
{
  b->run = run_rest;
  return make_args(b, b->node->attr, 1, false) ? ST_OK : diag_oom(b->diag);
}

// SLICE_PART(dy, start)
static Status infer_part(Infer *f)
{
  return infer_out(f, 0, DT_F32, ((const SliceAttr *)f->node->attr)->part);
}

static void run_part(const void *args, const Call *c)
{
  const Args *a = args;
  Piece p = a->piece;
  p.src = begin_of(a, c->p[1]);
  piece_run(&p, c->p[0], c->p[2], c->accumulate, c->pool);
}

static Status bind_part(Bind *b)
{
  b->run = run_part;
  return make_args(b, b->node->attr, 1, true) ? ST_OK : diag_oom(b->diag);
}

const OpDef update_slice_ops[] = {
  {.name = "DYNAMIC_UPDATE_SLICE", .code = 151, .options = 117, .min_in = 3, .max_in = 3,
   .n_out = 1, .infer = infer, .bind = bind, .grad = grad},
  {.name = "SLICE_REST", .code = OP_NOT_IN_FILES, .attr_bytes = sizeof(SliceAttr),
   .infer = infer_rest, .bind = bind_rest},
  {.name = "SLICE_PART", .code = OP_NOT_IN_FILES, .flags = OP_ACCUMULATES,
   .attr_bytes = sizeof(SliceAttr), .infer = infer_part, .bind = bind_part},
  END_OPS};

#define X TENSOR(F32, DIMS(2, 3), VALUES(1, 2, 3, 4, 5, 6))
#define START(...) TENSOR(I32, DIMS(CASE_COUNT(double, __VA_ARGS__)), VALUES(__VA_ARGS__))

const OpCase update_slice_cases[] = {
  CASE("DYNAMIC_UPDATE_SLICE", "inside",
       IN(X, TENSOR(F32, DIMS(1, 2), VALUES(7, 8)), START(1, 0)),
       OUT(TENSOR(F32, DIMS(2, 3), VALUES(1, 2, 3, 7, 8, 6)))),
  CASE("DYNAMIC_UPDATE_SLICE", "outside: moved in, int64",
       IN(TENSOR(I64, DIMS(2, 2), VALUES(1, 2, 3, 4)), TENSOR(I64, DIMS(1, 1), VALUES(9)),
          TENSOR(I64, DIMS(2), VALUES(9e18, -9e18))),
       OUT(TENSOR(I64, DIMS(2, 2), VALUES(1, 2, 9, 4)))),
  CASE("DYNAMIC_UPDATE_SLICE", "bytes", IN(TENSOR(U8, DIMS(3), VALUES(1, 2, 3)),
          TENSOR(U8, DIMS(2), VALUES(8, 9)), START(2)), OUT(TENSOR(U8, DIMS(3), VALUES(1, 8, 9)))),
  CASE("DYNAMIC_UPDATE_SLICE", "a step of a sequence",
       IN(RANDOM(1, 5, 2), RANDOM(1, 1, 2), START(0, 3, 0)), OUT(RANDOM(1, 5, 2))),
  CASE("DYNAMIC_UPDATE_SLICE", "all of it", IN(RANDOM(2, 3), RANDOM(2, 3), START(0, 0)),
       OUT(RANDOM(2, 3))),
  CASE("DYNAMIC_UPDATE_SLICE", "nothing of it", IN(RANDOM(2, 3), RANDOM(2, 0), START(0, 0)),
       OUT(RANDOM(2, 3))),
  CASE("DYNAMIC_UPDATE_SLICE", "scalars", IN(RANDOM(), RANDOM(), TENSOR(I32, DIMS(0))),
       OUT(RANDOM())),
  CASE("DYNAMIC_UPDATE_SLICE", "refused: size", IN(X, RANDOM(3, 1), START(0, 0)),
       .refusal = "an update of float32 [3,1] does not fit into float32 [2,3]"),
  CASE("DYNAMIC_UPDATE_SLICE", "refused: type", IN(X, TENSOR(I32, DIMS(1, 1)), START(0, 0)),
       .refusal = "an update of int32 [1,1]"),
  CASE("DYNAMIC_UPDATE_SLICE", "refused: start", IN(X, RANDOM(1, 1), START(0)),
       .refusal = "the start is int32 of shape [1], wanted 2 int32 or int64"),
  END_CASES};
