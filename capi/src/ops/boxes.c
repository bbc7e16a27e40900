// SPDX-License-Identifier: Apache-2.0
// BOX_READ and BOX_SCATTER, which gradients of slices, pads and concatenations are made of.
#include "ops/boxes.h"

typedef struct {
  MoveShape move;
  int64_t offset;    // of the box in the outer tensor, elements
  int64_t outer;     // elements of the outer tensor
  int32_t bytes;     // of an element
} Args;

Box box_whole(const Shape *s)
{
  Box b = {.rank = s->rank};
  for (int i = 0; i < s->rank; ++i) {
    b.stride[i] = 1;
    b.count[i] = s->dim[i];
  }
  return b;
}

MoveShape box_move(const Box *box, const Shape *outer, bool outer_is_src, int32_t element_bytes,
                   int64_t *offset)
{
  MoveShape m = {.rank = box->rank, .element_bytes = element_bytes};
  int64_t step[MAX_RANK], dense = 1;
  shape_strides(outer, step);
  *offset = 0;
  for (int i = box->rank - 1; i >= 0; --i) {
    m.dim[i] = box->count[i];
    *offset += (int64_t)box->begin[i] * step[i];
    int64_t outer_stride = step[i] * box->stride[i];
    m.src_stride[i] = outer_is_src ? outer_stride : dense;
    m.dst_stride[i] = outer_is_src ? dense : outer_stride;
    dense *= box->count[i];
  }
  move_simplify(&m);
  return m;
}

Status parts_bind(Bind *b, const Shape *whole, int axis, const int32_t *extent, int n,
                  bool whole_is_src, DType type, Parts *out)
{
  *out = (Parts){.n = n, .bytes = (int32_t)dtype_bytes(type)};
  out->move = arena_array(b->arena, (size_t)n, sizeof *out->move);
  out->offset = arena_array(b->arena, (size_t)n, sizeof *out->offset);
  if (!out->move || !out->offset)
    return diag_oom(b->diag);
  Box box = box_whole(whole);
  for (int i = 0; i < n; ++i) {
    box.count[axis] = extent[i];
    out->move[i] = box_move(&box, whole, whole_is_src, out->bytes, &out->offset[i]);
    out->offset[i] *= out->bytes;
    box.begin[axis] += extent[i];
  }
  return ST_OK;
}

bool box_takes_all_of_dim0(const Box *box, const Shape *outer)
{
  return outer->rank > 0 && box->begin[0] == 0 && box->stride[0] == 1 &&
         box->count[0] == outer->dim[0];
}

// Where merged, the node works on `n` times dimension 0 of the box and of what is around it.
static Args *box_args(Bind *b, const BoxAttr *attr, bool outer_is_src, DType type)
{
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return NULL;
  Box box = attr->box;
  Shape outer = attr->outer;
  bool batched = b->g->tensors[b->node->out[0]].batched;
  if (batched && b->n > 1) {
    box.count[0] *= b->n;
    outer.dim[0] *= b->n;
  }
  a->bytes = (int32_t)dtype_bytes(type);
  a->move = box_move(&box, &outer, outer_is_src, a->bytes, &a->offset);
  a->outer = shape_numel(&outer);
  return a;
}

static bool merge(const Graph *g, const Node *n)
{
  const BoxAttr *a = n->attr;
  return g->tensors[n->in[0]].batched && box_takes_all_of_dim0(&a->box, &a->outer);
}

// BOX_READ(x) -> the box of it
static Status infer_read(Infer *f)
{
  return infer_out(f, 0, infer_in(f, 0)->dtype, ((const BoxAttr *)f->node->attr)->inner);
}

static void run_read(const void *args, const Call *c)
{
  const Args *a = args;
  const uint8_t *src = (const uint8_t *)c->p[0] + a->offset * a->bytes;
  if (c->accumulate)
    move_add(&a->move, (const float *)(const void *)src, c->p[1], c->pool);
  else
    move_copy(&a->move, src, c->p[1], c->pool);
}

static Status bind_read(Bind *b)
{
  if (!box_args(b, b->node->attr, true, bind_type(b, 0)))
    return diag_oom(b->diag);
  b->run = run_read;
  return ST_OK;
}

// BOX_SCATTER(dy) -> zeros but for the box
static Status infer_scatter(Infer *f)
{
  return infer_out(f, 0, infer_in(f, 0)->dtype, ((const BoxAttr *)f->node->attr)->outer);
}

static void run_scatter(const void *args, const Call *c)
{
  const Args *a = args;
  static const uint64_t zero;
  if (!c->accumulate)
    move_fill(c->p[1], &zero, a->outer, a->bytes, c->pool);
  uint8_t *dst = (uint8_t *)c->p[1] + a->offset * a->bytes;
  if (c->accumulate)
    move_add(&a->move, c->p[0], (float *)(void *)dst, c->pool);
  else
    move_copy(&a->move, c->p[0], dst, c->pool);
}

static Status bind_scatter(Bind *b)
{
  if (!box_args(b, b->node->attr, false, bind_type(b, 0)))
    return diag_oom(b->diag);
  b->run = run_scatter;
  return ST_OK;
}

const OpDef boxes_ops[] = {
  {.name = "BOX_READ", .code = OP_NOT_IN_FILES, .flags = OP_ACCUMULATES,
   .attr_bytes = sizeof(BoxAttr), .infer = infer_read, .merge = merge, .bind = bind_read},
  {.name = "BOX_SCATTER", .code = OP_NOT_IN_FILES, .flags = OP_ACCUMULATES,
   .attr_bytes = sizeof(BoxAttr), .infer = infer_scatter, .merge = merge, .bind = bind_scatter},
  END_OPS};

#define X TENSOR(F32, DIMS(2, 3), VALUES(1, 2, 3, 4, 5, 6))

const OpCase boxes_cases[] = {
  CASE("BOX_READ", "every second column, backwards", IN(X),
       OUT(TENSOR(F32, DIMS(2, 2), VALUES(3, 1, 6, 4))), ATTR(BoxAttr, .box = {.rank = 2,
          .begin = {0, 2}, .stride = {1, -2}, .count = {2, 2}}, .outer = {.rank = 2, .dim = {2,
          3}}, .inner = {.rank = 2, .dim = {2, 2}})),
  CASE("BOX_SCATTER", "one row", IN(TENSOR(F32, DIMS(3), VALUES(1, 2, 3))),
       OUT(TENSOR(F32, DIMS(2, 3), VALUES(0, 0, 0, 1, 2, 3))), ATTR(BoxAttr, .box = {.rank = 2,
          .begin = {1, 0}, .stride = {1, 1}, .count = {1, 3}}, .outer = {.rank = 2, .dim = {2, 3}},
          .inner = {.rank = 1, .dim = {3}})),
  END_CASES};
