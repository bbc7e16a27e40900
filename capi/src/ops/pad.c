// SPDX-License-Identifier: Apache-2.0
// PAD and PADV2: constant padding of any element type; the gradient is the inner region.
// MIRROR_PAD: what is inside once more, turned around; the gradient adds it up.
#include "ops/views.h"

static Status read_box(Infer *f, Box *box, Shape *out)
{
  const Tensor *x = infer_in(f, 0), *pads = infer_in(f, 1);
  int64_t pad[2 * MAX_RANK];
  int n = 0, rank = x->shape.rank;
  TRY(infer_ints(f, 1, pad, 2 * MAX_RANK, &n));
  if (pads->shape.rank != 2 || pads->shape.dim[0] != rank || pads->shape.dim[1] != 2)
    return infer_fail(f, "paddings have shape %s, wanted [%d,2]", shape_text(&pads->shape).text,
                      rank);
  *box = box_whole(&x->shape);
  *out = x->shape;
  for (int i = 0; i < rank; ++i) {
    int64_t before = pad[2 * i], after = pad[2 * i + 1];
    if (before < 0 || before > INT32_MAX || after < 0 || after > INT32_MAX ||
        before + after + x->shape.dim[i] > INT32_MAX)
      return infer_fail(f, "padding %lld, %lld of dimension %d is out of range",
                        (long long)before, (long long)after, i);
    box->begin[i] = (int32_t)before;
    out->dim[i] += (int32_t)(before + after);
  }
  return ST_OK;
}

static Status read(Infer *f, Arena *arena, View *v)
{
  Box box;
  TRY(read_box(f, &box, &v->to));
  Piece p = box_write(&box, &v->to);
  return view_of_piece(f->diag, arena, &p, v);
}

// ---- MIRROR_PAD ----

typedef struct {
  bool symmetric; // the element at the edge is repeated too
} MirrorAttr;

static Status parse_mirror(const FbTable *options, void *attr, int *act, Diag *d)
{
  (void)act;
  const uint8_t mode = fb_u8(*options, 0, 0);
  if (mode > 1)
    return diag_fail(d, ST_ERROR, "mode is %u, wanted 0 (reflect) or 1 (symmetric)", mode);
  ((MirrorAttr *)attr)->symmetric = mode == 1;
  return ST_OK;
}

// Part 0 of an axis is before the input, 1 the input, 2 behind it.
static bool mirror_part(const Box *inner, const Shape *to, int axis, int part, bool symmetric,
                        Box *src, Box *dst)
{
  const int32_t before = inner->begin[axis], dim = inner->count[axis];
  const int32_t behind = to->dim[axis] - before - dim, edge = symmetric ? 0 : 1;
  src->stride[axis] = part == 1 ? 1 : -1;
  src->begin[axis] = part == 0 ? before - 1 + edge : part == 1 ? 0 : dim - 1 - edge;
  dst->begin[axis] = part == 0 ? 0 : part == 1 ? before : before + dim;
  src->count[axis] = dst->count[axis] = part == 0 ? before : part == 1 ? dim : behind;
  return src->count[axis] > 0;
}

static Status read_mirror(Infer *f, Arena *arena, View *v)
{
  const bool symmetric = ((const MirrorAttr *)f->node->attr)->symmetric;
  const Shape *x = &v->from;
  Box inner, src = box_whole(x), dst = src;
  int32_t pieces = 1, parts = 1;
  TRY(read_box(f, &inner, &v->to));
  for (int i = 0; i < x->rank; ++i) {
    const int32_t before = inner.begin[i], behind = v->to.dim[i] - before - x->dim[i];
    const int32_t most = symmetric ? x->dim[i] : x->dim[i] > 0 ? x->dim[i] - 1 : 0;
    if (before > most || behind > most)
      return infer_fail(f, "padding %d, %d of dimension %d of shape %s has too little to mirror",
                        before, behind, i, shape_text(x).text);
    pieces *= (before > 0) + (behind > 0) + 1;
    parts *= 3;
  }
  if (!arena)
    return ST_OK;
  if (!view_pieces(v, arena, pieces))
    return diag_oom(f->diag);
  v->n = 0;
  v->repeats = true;
  for (int32_t number = 0; number < parts; ++number) {
    bool any = true;
    for (int32_t i = 0, rest = number; i < x->rank; ++i, rest /= 3)
      any = mirror_part(&inner, &v->to, i, rest % 3, symmetric, &src, &dst) && any;
    if (any)
      v->piece[v->n++] = box_piece(&src, x, &dst, &v->to);
  }
  return ST_OK;
}

static Status infer_mirror(Infer *f)
{
  return view_infer(f, read_mirror);
}

static Status bind_mirror(Bind *b)
{
  return view_bind(b, read_mirror, 0, -1);
}

static Status grad_mirror(Grad *g)
{
  return view_grad(g, read_mirror);
}

// ---- PAD, PADV2 ----

static Status infer(Infer *f)
{
  const Tensor *x = infer_in(f, 0), *value = infer_in(f, 2);
  TRY(view_infer(f, read));
  if (value && (value->dtype != x->dtype || shape_numel(&value->shape) != 1))
    return infer_fail(f, "the fill value is %s of shape %s, wanted one %s",
                      dtype_name(value->dtype), shape_text(&value->shape).text,
                      dtype_name(x->dtype));
  return ST_OK;
}

// A value of its own for every sample needs a call of its own.
static bool merge(const Graph *g, const Node *n)
{
  return n->n_in < 3 || !g->tensors[n->in[2]].batched;
}

static Status bind(Bind *b)
{
  // A quantized tensor's 0 is its zero point; two's complement cuts it to any width.
  const Quant *q = &b->g->tensors[b->node->in[0]].quant;
  return view_bind(b, read, q->n > 0 ? (uint64_t)q->zero_point[0] : 0,
                   b->node->n_in > 2 ? 2 : -1);
}

static Status grad(Grad *g)
{
  return view_grad(g, read);
}

const OpDef pad_ops[] = {
  {.name = "PAD", .code = 34, .options = 22, .min_in = 2, .max_in = 2, .n_out = 1, .infer = infer,
   .merge = merge, .bind = bind, .grad = grad},
  {.name = "PADV2", .code = 60, .options = 43, .min_in = 3, .max_in = 3, .n_out = 1,
   .infer = infer, .merge = merge, .bind = bind, .grad = grad},
  {.name = "MIRROR_PAD", .code = 100, .options = 77, .min_in = 2, .max_in = 2, .n_out = 1,
   .attr_bytes = sizeof(MirrorAttr), .parse = parse_mirror, .infer = infer_mirror,
   .merge = merge_always, .bind = bind_mirror, .grad = grad_mirror},
  END_OPS};

#define X TENSOR(F32, DIMS(2, 2), VALUES(1, 2, 3, 4))

const OpCase pad_cases[] = {
  CASE("PAD", "values", IN(X, CONSTANT(I32, DIMS(2, 2), VALUES(1, 0, 0, 2))),
       OUT(TENSOR(F32, DIMS(3, 4), VALUES(0, 0, 0, 0, 1, 2, 0, 0, 3, 4, 0, 0)))),
  CASE("PAD", "int64 paddings, int16",
       IN(TENSOR(I16, DIMS(2), VALUES(-5, 6)), CONSTANT(I64, DIMS(1, 2), VALUES(1, 1))),
       OUT(TENSOR(I16, DIMS(4), VALUES(0, -5, 6, 0)))),
  CASE("PAD", "bytes",
       IN(TENSOR(BOOL, DIMS(1, 2), VALUES(1, 1)), CONSTANT(I32, DIMS(2, 2), VALUES(0, 1, 1, 0))),
       OUT(TENSOR(BOOL, DIMS(2, 3), VALUES(0, 1, 1, 0, 0, 0)))),
  CASE("PAD", "image",
       IN(RANDOM(1, 3, 4, 2), CONSTANT(I32, DIMS(4, 2), VALUES(0, 0, 1, 2, 0, 1, 0, 0))),
       OUT(RANDOM(1, 6, 5, 2))),
  CASE("PAD", "the batch too", IN(RANDOM(1, 3), CONSTANT(I32, DIMS(2, 2), VALUES(1, 1, 2, 0))),
       OUT(RANDOM(3, 5))),
  CASE("PAD", "several rows a sample, channels",
       IN(RANDOM(2, 1, 3), CONSTANT(I64, DIMS(3, 2), VALUES(0, 0, 0, 0, 1, 3))),
       OUT(RANDOM(2, 1, 7))),
  CASE("PAD", "nothing", IN(RANDOM(2, 3), CONSTANT(I32, DIMS(2, 2), VALUES(0, 0, 0, 0))),
       OUT(RANDOM(2, 3))),
  CASE("PAD", "refused: negative", IN(X, CONSTANT(I32, DIMS(2, 2), VALUES(0, -1, 0, 0))),
       .refusal = "padding 0, -1 of dimension 0"),
  CASE("PAD", "refused: huge", IN(X, CONSTANT(I64, DIMS(2, 2), VALUES(9e18, 9e18, 0, 0))),
       .refusal = "of dimension 0 is out of range"),
  CASE("PAD", "refused: shape", IN(X, CONSTANT(I32, DIMS(4), VALUES(0, 0, 0, 0))),
       .refusal = "paddings have shape [4], wanted [2,2]"),
  CASE("PAD", "refused: not constant", IN(X, TENSOR(I32, DIMS(2, 2))),
       .refusal = "must be constant"),
  CASE("PADV2", "values",
       IN(X, CONSTANT(I32, DIMS(2, 2), VALUES(0, 0, 1, 0)), CONSTANT(F32, DIMS(), VALUES(-7))),
       OUT(TENSOR(F32, DIMS(2, 3), VALUES(-7, 1, 2, -7, 3, 4)))),
  CASE("PADV2", "int64", IN(TENSOR(I64, DIMS(1), VALUES(3)), CONSTANT(I32, DIMS(1, 2), VALUES(1,
          1)), CONSTANT(I64, DIMS(1), VALUES(-1))), OUT(TENSOR(I64, DIMS(3), VALUES(-1, 3, -1)))),
  CASE("PADV2", "image", IN(RANDOM(1, 2, 2, 3), CONSTANT(I32, DIMS(4, 2), VALUES(0, 0, 1, 1, 1, 0,
          0, 0)), CONSTANT(F32, DIMS(), VALUES(0.5))), OUT(RANDOM(1, 4, 3, 3))),
  CASE("PADV2", "refused: value",
       IN(X, CONSTANT(I32, DIMS(2, 2), VALUES(0, 0, 1, 0)), CONSTANT(I32, DIMS(), VALUES(1))),
       .refusal = "the fill value is int32 of shape [], wanted one float32"),
  CASE("MIRROR_PAD", "reflect, no options",
       IN(TENSOR(F32, DIMS(1, 3), VALUES(1, 2, 3)), CONSTANT(I32, DIMS(2, 2), VALUES(0, 0, 2, 1))),
       OUT(TENSOR(F32, DIMS(1, 6), VALUES(3, 2, 1, 2, 3, 2)))),
  CASE("MIRROR_PAD", "options: symmetric, both ways, int64",
       IN(TENSOR(I64, DIMS(2, 2), VALUES(1, 2, 3, 4)), CONSTANT(I64, DIMS(2, 2), VALUES(1, 0, 0,
          2))), OUT(TENSOR(I64, DIMS(3, 4), VALUES(1, 2, 2, 1, 1, 2, 2, 1, 3, 4, 4, 3))),
       OPTIONS(OPT_BYTE(0, 1))),
  CASE("MIRROR_PAD", "image, reflect",
       IN(RANDOM(1, 3, 4, 2), CONSTANT(I32, DIMS(4, 2), VALUES(0, 0, 2, 1, 1, 3, 0, 0))),
       OUT(RANDOM(1, 6, 8, 2)), ATTR(MirrorAttr, false)),
  CASE("MIRROR_PAD", "image, symmetric",
       IN(RANDOM(1, 3, 4, 2), CONSTANT(I32, DIMS(4, 2), VALUES(0, 0, 3, 1, 0, 4, 1, 0))),
       OUT(RANDOM(1, 7, 8, 3)), ATTR(MirrorAttr, true)),
  CASE("MIRROR_PAD", "several rows a sample",
       IN(RANDOM(2, 3), CONSTANT(I32, DIMS(2, 2), VALUES(1, 1, 0, 1))), OUT(RANDOM(4, 4)),
       ATTR(MirrorAttr, false)),
  CASE("MIRROR_PAD", "nothing", IN(RANDOM(0, 2), CONSTANT(I32, DIMS(2, 2), VALUES(0, 0, 1, 1))),
       OUT(RANDOM(0, 4)), ATTR(MirrorAttr, false)),
  CASE("MIRROR_PAD", "refused: more than there is",
       IN(X, CONSTANT(I32, DIMS(2, 2), VALUES(0, 0, 0, 2))), ATTR(MirrorAttr, false),
       .refusal = "padding 0, 2 of dimension 1 of shape [2,2] has too little to mirror"),
  CASE("MIRROR_PAD", "refused: more than there is, symmetric",
       IN(X, CONSTANT(I32, DIMS(2, 2), VALUES(3, 0, 0, 0))), ATTR(MirrorAttr, true),
       .refusal = "padding 3, 0 of dimension 0"),
  CASE("MIRROR_PAD", "refused: mode", IN(X, CONSTANT(I32, DIMS(2, 2), VALUES(0, 0, 0, 0))),
       OPTIONS(OPT_BYTE(0, 2)), .refusal = "mode is 2, wanted 0 (reflect) or 1 (symmetric)"),
  END_CASES};
