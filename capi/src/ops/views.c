// SPDX-License-Identifier: Apache-2.0
// VIEW, which gradients of slices, pads, permutations and concatenations are made of, and what the
// operators themselves run.
#include "ops/views.h"

#include "ops/bindings.h"

typedef struct {
  int32_t n, bytes, out, value;
  Piece *piece;   // [n], of all samples
  int64_t fill;   // elements of the result that are set before
  uint64_t hole;
  bool adds;
} Args;

bool view_pieces(View *v, Arena *arena, int32_t n)
{
  v->n = n;
  v->piece = arena_array(arena, (size_t)n, sizeof *v->piece);
  return v->piece != NULL;
}

Status view_of_piece(Diag *d, Arena *arena, const Piece *p, View *v)
{
  if (!arena)
    return ST_OK;
  if (!view_pieces(v, arena, 1))
    return diag_oom(d);
  *v->piece = *p;
  return ST_OK;
}

Status view_infer(Infer *f, ViewReader read)
{
  View v = {.from = infer_in(f, 0)->shape};
  TRY(read(f, NULL, &v));
  return infer_out(f, 0, infer_in(f, 0)->dtype, v.to);
}

int32_t view_node(Grad *g, const View *v, int32_t t)
{
  return grad_node(g, "VIEW", v, 1, &t);
}

// The view that takes everything back to where it came from.
static View turned(const View *v)
{
  View back = *v;
  back.from = v->to;
  back.to = v->from;
  back.adds = v->repeats;
  back.repeats = v->adds;
  for (int32_t i = 0; i < v->n; ++i)
    back.piece[i] = piece_turned(&back.piece[i]);
  return back;
}

Status view_grad(Grad *g, ViewReader read)
{
  Graph *graph = grad_graph(g);
  const Node *n = grad_of(g);
  Diag d = {0};
  Infer f = infer_view(graph, n, &d);
  View v = {.from = grad_tensor(g, n->in[0])->shape};
  if (read(&f, graph->arena, &v) != ST_OK)
    return grad_fail(g, "%s", d.text);
  v = turned(&v);
  grad_give(g, 0, view_node(g, &v, grad_out(g, 0)));
  return ST_OK;
}

static void run(const void *args, const Call *c)
{
  const Args *a = args;
  uint8_t *y = c->p[a->out];
  if (!c->accumulate)
    move_fill(y, a->value >= 0 ? c->p[a->value] : &a->hole, a->fill, a->bytes, c->pool);
  for (int32_t i = 0; i < a->n; ++i)
    piece_run(&a->piece[i], c->p[0], y, a->adds || c->accumulate, c->pool);
}

// Every sample is read and written the same way: one dimension more.
static MoveShape with_samples(const MoveShape *one, int32_t samples, int64_t src, int64_t dst)
{
  MoveShape m = {.rank = 1, .dim = {samples}, .src_stride = {src}, .dst_stride = {dst}};
  for (int32_t i = 0; i < one->rank; ++i) {
    m.dim[m.rank] = one->dim[i];
    m.src_stride[m.rank] = one->src_stride[i];
    m.dst_stride[m.rank++] = one->dst_stride[i];
  }
  move_simplify(&m);
  return m;
}

static Status bind_view(Bind *b, const View *v, uint64_t hole, int value)
{
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  *a = (Args){.n = v->n, .out = b->node->n_in, .value = value, .hole = hole, .adds = v->adds};
  a->bytes = (int32_t)dtype_bytes(bind_type(b, 0));
  a->piece = arena_array(b->arena, (size_t)v->n, sizeof *a->piece);
  if (!a->piece)
    return diag_oom(b->diag);
  const int64_t from = shape_numel(&v->from), to = shape_numel(&v->to);
  int64_t written = 0;
  for (int32_t i = 0; i < v->n; ++i) {
    MoveShape m = v->piece[i].move;
    move_simplify(&m);
    int64_t elements = 1;
    for (int32_t k = 0; k < m.rank; ++k)
      elements *= m.dim[k];
    written += elements;
    a->piece[i] = v->piece[i];
    a->piece[i].move = with_samples(&m, b->n, from, to);
    a->piece[i].move.element_bytes = a->bytes;
  }
  a->fill = v->adds || written < to ? to * b->n : 0;
  b->run = run;
  return ST_OK;
}

Status view_bind(Bind *b, ViewReader read, uint64_t hole, int value)
{
  Infer f = infer_view(b->g, b->node, b->diag);
  View v = {.from = b->g->tensors[b->node->in[0]].shape};
  TRY(read(&f, b->arena, &v));
  return bind_view(b, &v, hole, value);
}

// VIEW(t)
static Status infer(Infer *f)
{
  return infer_out(f, 0, infer_in(f, 0)->dtype, ((const View *)f->node->attr)->to);
}

static Status bind(Bind *b)
{
  return bind_view(b, b->node->attr, 0, -1);
}

const OpDef views_ops[] = {
  {.name = "VIEW", .code = OP_NOT_IN_FILES, .flags = OP_ACCUMULATES, .attr_bytes = sizeof(View),
   .infer = infer, .merge = merge_always, .bind = bind},
  END_OPS};

#define PIECES(...)                                                                                \
  .n = CASE_COUNT(Piece, __VA_ARGS__), .piece = (Piece[])                                          \
  {                                                                                                \
    __VA_ARGS__                                                                                    \
  }
#define SHAPE2(a, b) {.rank = 2, .dim = {a, b}}

const OpCase views_cases[] = {
  CASE("VIEW", "every second column, backwards",
       IN(TENSOR(F32, DIMS(2, 3), VALUES(1, 2, 3, 4, 5, 6))),
       OUT(TENSOR(F32, DIMS(2, 2), VALUES(3, 1, 6, 4))), ATTR(View, .from = SHAPE2(2, 3),
          .to = SHAPE2(2, 2), PIECES({.src = 2, .move = {2, {2, 2}, {3, -2}, {2, 1}, 0}}))),
  CASE("VIEW", "one row, the others are holes", IN(TENSOR(F32, DIMS(3), VALUES(1, 2, 3))),
       OUT(TENSOR(F32, DIMS(2, 3), VALUES(0, 0, 0, 1, 2, 3))), ATTR(View, .from = {1, {3}},
          .to = SHAPE2(2, 3), PIECES({.dst = 3, .move = {1, {3}, {1}, {1}, 0}}))),
  CASE("VIEW", "pieces that add up", IN(TENSOR(F32, DIMS(3), VALUES(1, 2, 3))),
       OUT(TENSOR(F32, DIMS(2), VALUES(3, 5))), ATTR(View, .from = {1, {3}}, .to = {1, {2}},
          .adds = true, PIECES({.move = {1, {2}, {1}, {1}, 0}},
                               {.src = 1, .move = {1, {2}, {1}, {1}, 0}}))),
  END_CASES};
