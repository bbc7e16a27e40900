// SPDX-License-Identifier: Apache-2.0
// TRANSPOSE with a constant permutation, where dimension i of the result is dimension perm[i] of x;
// REVERSE_V2, which turns constant axes around.
#include "ops/views.h"

static Status read(Infer *f, Arena *arena, View *v)
{
  const Shape *x = &v->from;
  int64_t perm[MAX_RANK], stride[MAX_RANK];
  int n = 0;
  bool seen[MAX_RANK] = {0};
  Piece p = {.move = {.rank = x->rank}};
  TRY(infer_ints(f, 1, perm, MAX_RANK, &n));
  if (n != x->rank)
    return infer_fail(f, "the permutation has %d entries, the input has shape %s", n,
                      shape_text(x).text);
  shape_strides(x, stride);
  v->to.rank = n;
  for (int i = 0; i < n; ++i) {
    int axis;
    if (!shape_axis(perm[i], n, &axis) || seen[axis])
      return infer_fail(f, "entry %d of the permutation is %lld: not a permutation of %d axes", i,
                        (long long)perm[i], n);
    seen[axis] = true;
    p.move.dim[i] = v->to.dim[i] = x->dim[axis];
    p.move.src_stride[i] = stride[axis];
  }
  shape_strides(&v->to, p.move.dst_stride);
  return view_of_piece(f->diag, arena, &p, v);
}

static Status read_reverse(Infer *f, Arena *arena, View *v)
{
  const Shape *x = &v->from;
  int64_t axes[MAX_RANK];
  int n = 0;
  TRY(infer_ints(f, 1, axes, MAX_RANK, &n));
  Box box = box_whole(x);
  for (int i = 0; i < n; ++i) {
    int axis;
    if (!shape_axis(axes[i], x->rank, &axis) || box.stride[axis] < 0)
      return infer_fail(f, "axis %lld is outside rank %d, or named twice", (long long)axes[i],
                        x->rank);
    box.stride[axis] = -1;
    box.begin[axis] = x->dim[axis] > 0 ? x->dim[axis] - 1 : 0;
  }
  v->to = *x;
  Piece p = box_read(&box, &v->from);
  return view_of_piece(f->diag, arena, &p, v);
}

static Status infer_reverse(Infer *f)
{
  return view_infer(f, read_reverse);
}

static Status bind_reverse(Bind *b)
{
  return view_bind(b, read_reverse, 0, -1);
}

static Status grad_reverse(Grad *g)
{
  return view_grad(g, read_reverse);
}

static Status infer(Infer *f)
{
  return view_infer(f, read);
}

static Status bind(Bind *b)
{
  return view_bind(b, read, 0, -1);
}

static Status grad(Grad *g)
{
  return view_grad(g, read);
}

const OpDef transpose_ops[] = {
  {.name = "TRANSPOSE", .code = 39, .options = 26, .min_in = 2, .max_in = 2, .n_out = 1,
   .infer = infer, .merge = merge_always, .bind = bind, .grad = grad},
  {.name = "REVERSE_V2", .code = 105, .options = 81, .min_in = 2, .max_in = 2, .n_out = 1,
   .infer = infer_reverse, .merge = merge_always, .bind = bind_reverse, .grad = grad_reverse},
  END_OPS};

const OpCase transpose_cases[] = {
  CASE("TRANSPOSE", "matrix", IN(TENSOR(F32, DIMS(2, 3), VALUES(1, 2, 3, 4, 5, 6)), INTS(1, 0)),
       OUT(TENSOR(F32, DIMS(3, 2), VALUES(1, 4, 2, 5, 3, 6)))),
  CASE("TRANSPOSE", "int64 elements and axes",
       IN(TENSOR(I64, DIMS(2, 1, 2), VALUES(1, 2, 3, 4)), CONSTANT(I64, DIMS(3), VALUES(2, 0, 1))),
       OUT(TENSOR(I64, DIMS(2, 2, 1), VALUES(1, 3, 2, 4)))),
  CASE("TRANSPOSE", "bytes", IN(TENSOR(U8, DIMS(2, 2), VALUES(1, 2, 3, 4)), INTS(1, 0)),
       OUT(TENSOR(U8, DIMS(2, 2), VALUES(1, 3, 2, 4)))),
  CASE("TRANSPOSE", "NCHW to NHWC", IN(RANDOM(1, 3, 4, 2), INTS(0, 2, 3, 1)),
       OUT(RANDOM(1, 4, 2, 3))),
  CASE("TRANSPOSE", "several rows a sample", IN(RANDOM(2, 3, 4), INTS(0, 2, 1)),
       OUT(RANDOM(2, 4, 3))),
  CASE("TRANSPOSE", "time before batch", IN(RANDOM(1, 5, 2), INTS(1, 0, 2)), OUT(RANDOM(5, 1, 2))),

  CASE("TRANSPOSE", "rank 6", IN(RANDOM(1, 2, 3, 2, 1, 2), INTS(0, 5, 1, 4, 3, 2)),
       OUT(RANDOM(1, 2, 2, 1, 2, 3))),
  CASE("TRANSPOSE", "rank 8", IN(RANDOM(2, 1, 2, 1, 2, 1, 2, 3), INTS(7, 6, 5, 4, 3, 2, 1, 0)),
       OUT(RANDOM(3, 2, 1, 2, 1, 2, 1, 2))),
  CASE("TRANSPOSE", "identity", IN(RANDOM(3, 2), INTS(0, 1)), OUT(RANDOM(3, 2))),
  CASE("TRANSPOSE", "refused: twice", IN(RANDOM(2, 3), INTS(0, 0)),
       .refusal = "entry 1 of the permutation is 0"),
  CASE("TRANSPOSE", "refused: outside", IN(RANDOM(2, 3), INTS(0, 2)),
       .refusal = "entry 1 of the permutation is 2"),
  CASE("TRANSPOSE", "refused: count", IN(RANDOM(2, 3), INTS(0, 1, 2)),
       .refusal = "has 3 entries, the input has shape [2,3]"),
  CASE("TRANSPOSE", "refused: not constant", IN(RANDOM(2, 3), TENSOR(I32, DIMS(2))),
       .refusal = "must be constant"),
  CASE("REVERSE_V2", "rows", IN(TENSOR(F32, DIMS(2, 2), VALUES(1, 2, 3, 4)), INTS(0)),
       OUT(TENSOR(F32, DIMS(2, 2), VALUES(3, 4, 1, 2)))),
  CASE("REVERSE_V2", "both ways, int64 axes, int16",
       IN(TENSOR(I16, DIMS(2, 2), VALUES(1, 2, 3, -4)), CONSTANT(I64, DIMS(2), VALUES(-1, 0))),
       OUT(TENSOR(I16, DIMS(2, 2), VALUES(-4, 3, 2, 1)))),
  CASE("REVERSE_V2", "time", IN(RANDOM(1, 5, 2), INTS(1)), OUT(RANDOM(1, 5, 2))),
  CASE("REVERSE_V2", "an image", IN(RANDOM(1, 3, 4, 2), INTS(2, 3)), OUT(RANDOM(1, 3, 4, 2))),
  CASE("REVERSE_V2", "several rows a sample", IN(RANDOM(3, 2), INTS(0)), OUT(RANDOM(3, 2))),
  CASE("REVERSE_V2", "no axis", IN(RANDOM(3, 2), CONSTANT(I32, DIMS(0))), OUT(RANDOM(3, 2))),
  CASE("REVERSE_V2", "nothing", IN(RANDOM(2, 0), INTS(1, 0)), OUT(RANDOM(2, 0))),
  CASE("REVERSE_V2", "refused: axis", IN(RANDOM(2, 3), INTS(2)),
       .refusal = "axis 2 is outside rank 2"),
  CASE("REVERSE_V2", "refused: twice", IN(RANDOM(2, 3), INTS(1, -1)), .refusal = "named twice"),
  END_CASES};
