// SPDX-License-Identifier: Apache-2.0
// SLICE and STRIDED_SLICE with constant bounds, of any element type.
#include "ops/views.h"

typedef struct {
  int32_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_mask;
  bool offset; // end counts from begin
} StridedAttr;

static Status parse_strided(const FbTable *options, void *attr, int *act, Diag *d)
{
  (void)act;
  (void)d;
  StridedAttr *a = attr;
  a->begin_mask = fb_i32(*options, 0, 0);
  a->end_mask = fb_i32(*options, 1, 0);
  a->ellipsis_mask = fb_i32(*options, 2, 0);
  a->new_axis_mask = fb_i32(*options, 3, 0);
  a->shrink_mask = fb_i32(*options, 4, 0);
  a->offset = fb_bool(*options, 5, false);
  return ST_OK;
}

static Status slice_box(Infer *f, Box *box, Shape *inner)
{
  const Shape *x = &infer_in(f, 0)->shape;
  int64_t begin[MAX_RANK], size[MAX_RANK];
  int nb = 0, ns = 0;
  TRY(infer_ints(f, 1, begin, MAX_RANK, &nb));
  TRY(infer_ints(f, 2, size, MAX_RANK, &ns));
  if (nb != x->rank || ns != x->rank)
    return infer_fail(f, "%d begins and %d sizes for an input of shape %s", nb, ns,
                      shape_text(x).text);
  *box = box_whole(x);
  *inner = *x;
  for (int i = 0; i < x->rank; ++i) {
    bool starts_inside = begin[i] >= 0 && begin[i] <= x->dim[i];
    int64_t n = size[i] == -1 && starts_inside ? x->dim[i] - begin[i] : size[i];
    if (!starts_inside || n < 0 || n > x->dim[i] - begin[i])
      return infer_fail(f, "begin %lld and size %lld leave dimension %d of shape %s",
                        (long long)begin[i], (long long)size[i], i, shape_text(x).text);
    box->begin[i] = (int32_t)begin[i];
    box->count[i] = inner->dim[i] = (int32_t)n;
  }
  return ST_OK;
}

static int64_t clamp(int64_t v, int64_t low, int64_t high)
{
  return v < low ? low : v > high ? high : v;
}

// One axis of STRIDED_SLICE: the rules of Python slices, with masks for open ends.
static void strided_axis(int32_t dim, int64_t begin, int64_t end, int64_t stride, bool open_begin,
                         bool open_end, bool from_begin, int32_t *first, int32_t *count)
{
  int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? dim : dim - 1;
  begin = clamp(begin < 0 ? begin + dim : begin, low, high);
  if (open_begin)
    begin = stride > 0 ? low : high;
  if (from_begin)
    end = clamp(end, -(int64_t)dim - 1, dim) + begin;
  else if (end < 0)
    end += dim;
  end = clamp(end, low, high);
  if (open_end)
    end = stride > 0 ? high : low;
  int64_t span = stride > 0 ? end - begin : begin - end, step = stride > 0 ? stride : -stride;
  *count = span > 0 ? (int32_t)((span + step - 1) / step) : 0;
  *first = (int32_t)(*count ? begin : 0);
}

static Status strided_box(Infer *f, Box *box, Shape *inner)
{
  const StridedAttr *a = f->node->attr;
  const Shape *x = &infer_in(f, 0)->shape;
  int64_t begin[MAX_RANK * 2], end[MAX_RANK * 2], stride[MAX_RANK * 2];
  int n = 0, ne = 0, ns = 0;
  TRY(infer_ints(f, 1, begin, MAX_RANK * 2, &n));
  TRY(infer_ints(f, 2, end, MAX_RANK * 2, &ne));
  TRY(infer_ints(f, 3, stride, MAX_RANK * 2, &ns));
  if (n != ne || n != ns)
    return infer_fail(f, "%d begins, %d ends and %d strides", n, ne, ns);
  int new_axes = 0;
  bool ellipsis = false;
  for (int i = 0; i < n; ++i) {
    bool dots = a->ellipsis_mask >> i & 1;
    if (dots && ellipsis)
      return infer_fail(f, "there is more than one ellipsis");
    ellipsis = ellipsis || dots;
    new_axes += !dots && (a->new_axis_mask >> i & 1);
  }
  int named = n - new_axes - ellipsis;
  if (named > x->rank)
    return infer_fail(f, "%d indices for an input of shape %s", named, shape_text(x).text);
  *box = box_whole(x);
  *inner = (Shape){0};
  int axis = 0;
  for (int i = 0; i < n || axis < x->rank; ++i) {
    bool dots = i < n && (a->ellipsis_mask >> i & 1);
    int whole = dots ? x->rank - named : i >= n ? 1 : 0;
    bool shrink = !dots && i < n && (a->shrink_mask >> i & 1) && !(a->new_axis_mask >> i & 1);
    if (inner->rank + (dots ? whole : !shrink) > MAX_RANK)
      return infer_fail(f, "the result would have more than %d dimensions", MAX_RANK);
    for (int k = 0; k < whole; ++k)
      inner->dim[inner->rank++] = x->dim[axis++];
    if (dots || i >= n)
      continue;
    if (a->new_axis_mask >> i & 1) {
      inner->dim[inner->rank++] = 1;
      continue;
    }
    if (stride[i] == 0 || stride[i] > INT32_MAX || stride[i] < -INT32_MAX ||
        (shrink && stride[i] < 0))
      return infer_fail(f, "stride %lld of index %d is not possible", (long long)stride[i], i);
    if (shrink) {
      int64_t at = begin[i] < 0 ? begin[i] + x->dim[axis] : begin[i];
      if (a->begin_mask >> i & 1)
        at = 0;
      if (at < 0 || at >= x->dim[axis])
        return infer_fail(f, "index %lld is outside dimension %d of shape %s",
                          (long long)begin[i], axis, shape_text(x).text);
      box->begin[axis] = (int32_t)at;
      box->count[axis++] = 1;
      continue;
    }
    strided_axis(x->dim[axis], begin[i], end[i], stride[i], a->begin_mask >> i & 1,
                 a->end_mask >> i & 1, a->offset, &box->begin[axis], &box->count[axis]);
    box->stride[axis] = (int32_t)stride[i];
    inner->dim[inner->rank++] = box->count[axis++];
  }
  return ST_OK;
}

static Status read(Infer *f, Arena *arena, View *v)
{
  Box box;
  TRY(f->node->op->attr_bytes ? strided_box(f, &box, &v->to) : slice_box(f, &box, &v->to));
  Piece p = box_read(&box, &v->from);
  return view_of_piece(f->diag, arena, &p, v);
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

const OpDef slice_ops[] = {
  {.name = "SLICE", .code = 65, .options = 48, .min_in = 3, .max_in = 3, .n_out = 1,
   .infer = infer, .merge = merge_always, .bind = bind, .grad = grad},
  {.name = "STRIDED_SLICE", .code = 45, .options = 32, .min_in = 4, .max_in = 4, .n_out = 1,
   .attr_bytes = sizeof(StridedAttr), .parse = parse_strided, .infer = infer,
   .merge = merge_always, .bind = bind, .grad = grad},
  END_OPS};

#define X TENSOR(F32, DIMS(2, 3), VALUES(1, 2, 3, 4, 5, 6))
#define X5 TENSOR(F32, DIMS(5), VALUES(0, 1, 2, 3, 4))
#define OUT5(...) OUT(TENSOR(F32, DIMS(CASE_COUNT(double, __VA_ARGS__)), VALUES(__VA_ARGS__)))

const OpCase slice_cases[] = {
  CASE("SLICE", "values", IN(X, INTS(0, 1), INTS(2, 2)),
       OUT(TENSOR(F32, DIMS(2, 2), VALUES(2, 3, 5, 6)))),
  CASE("SLICE", "to the end, int64",
       IN(X, CONSTANT(I64, DIMS(2), VALUES(1, 1)), CONSTANT(I64, DIMS(2), VALUES(-1, -1))),
       OUT(TENSOR(F32, DIMS(1, 2), VALUES(5, 6)))),
  CASE("SLICE", "int32", IN(TENSOR(I32, DIMS(3), VALUES(7, 8, 9)), INTS(1), INTS(1)),
       OUT(TENSOR(I32, DIMS(1), VALUES(8)))),
  CASE("SLICE", "nothing, at the end", IN(X, INTS(0, 3), INTS(2, -1)), OUT(RANDOM(2, 0))),
  CASE("SLICE", "image", IN(RANDOM(1, 4, 5, 3), INTS(0, 1, 2, 0), INTS(1, 2, -1, 2)),
       OUT(RANDOM(1, 2, 3, 2))),
  CASE("SLICE", "part of a sample's rows", IN(RANDOM(4, 3), INTS(1, 0), INTS(2, 3)),
       OUT(RANDOM(2, 3))),
  CASE("SLICE", "all rows of a sample", IN(RANDOM(2, 3), INTS(0, 1), INTS(2, 1)),
       OUT(RANDOM(2, 1))),
  CASE("SLICE", "refused: past the end", IN(X, INTS(0, 2), INTS(2, 2)),
       .refusal = "begin 2 and size 2 leave dimension 1 of shape [2,3]"),
  CASE("SLICE", "refused: negative", IN(X, INTS(0, -1), INTS(2, 1)),
       .refusal = "begin -1 and size 1 leave"),
  CASE("SLICE", "refused: far out", IN(X, CONSTANT(I64, DIMS(2), VALUES(-9223372036854775808.0,
          0)), CONSTANT(I64, DIMS(2), VALUES(-1, 1))), .refusal = "leave dimension 0"),
  CASE("SLICE", "refused: rank", IN(X, INTS(0), INTS(1)),
       .refusal = "1 begins and 1 sizes for an input of shape [2,3]"),
  CASE("SLICE", "refused: not constant", IN(X, TENSOR(I32, DIMS(2)), INTS(1, 1)),
       .refusal = "must be constant"),
  CASE("STRIDED_SLICE", "backwards", IN(X5, INTS(4), INTS(0), INTS(-2)), OUT5(4, 2)),
  CASE("STRIDED_SLICE", "backwards to an open end", IN(X5, INTS(-2), INTS(0), INTS(-1)),
       OUT5(3, 2, 1, 0), ATTR(StridedAttr, .end_mask = 1)),
  CASE("STRIDED_SLICE", "backwards from an open begin", IN(X5, INTS(0), INTS(1), INTS(-1)),
       OUT5(4, 3, 2), ATTR(StridedAttr, .begin_mask = 1)),
  CASE("STRIDED_SLICE", "bounds outside", IN(X5, INTS(-100), INTS(2147483647), INTS(2)),
       OUT5(0, 2, 4)),
  CASE("STRIDED_SLICE", "far outside, backwards", IN(X5, CONSTANT(I64, DIMS(1), VALUES(9e18)),
          CONSTANT(I64, DIMS(1), VALUES(-9e18)), CONSTANT(I64, DIMS(1), VALUES(-1))),
       OUT5(4, 3, 2, 1, 0)),
  CASE("STRIDED_SLICE", "end from begin", IN(X5, INTS(1), INTS(3), INTS(1)), OUT5(1, 2, 3),
       ATTR(StridedAttr, .offset = true)),
  CASE("STRIDED_SLICE", "far end from begin", IN(X5, CONSTANT(I64, DIMS(1), VALUES(3)),
          CONSTANT(I64, DIMS(1), VALUES(9.2e18)), CONSTANT(I64, DIMS(1), VALUES(1))), OUT5(3, 4),
       ATTR(StridedAttr, .offset = true)),
  CASE("STRIDED_SLICE", "end from an open begin", IN(X5, INTS(4), INTS(2), INTS(1)), OUT5(0, 1),
       ATTR(StridedAttr, .begin_mask = 1, .offset = true)),
  CASE("STRIDED_SLICE", "bounds from the end", IN(X5, INTS(-4), INTS(-1), INTS(2)), OUT5(1, 3)),
  CASE("STRIDED_SLICE", "nothing", IN(X5, INTS(3), INTS(1), INTS(1)), OUT(RANDOM(0))),
  CASE("STRIDED_SLICE", "options: masks and a dropped axis",
       IN(X, INTS(1, 1), INTS(0, 0), INTS(1, 1)), OUT(TENSOR(F32, DIMS(3), VALUES(4, 5, 6))),
       OPTIONS(OPT_INT(0, 2), OPT_INT(1, 2), OPT_INT(4, 1))),
  CASE("STRIDED_SLICE", "options: ellipsis, new axis, offset",
       IN(X, INTS(0, 0, 1), INTS(0, 0, 1), INTS(1, 1, 1)),
       OUT(TENSOR(F32, DIMS(2, 1, 1), VALUES(2, 5))),
       OPTIONS(OPT_INT(2, 1), OPT_INT(3, 2), OPT_BYTE(5, 1))),
  CASE("STRIDED_SLICE", "element of a shape",
       IN(TENSOR(I32, DIMS(4), VALUES(7, 8, 9, 10)), INTS(-1), INTS(0), INTS(1)),
       OUT(TENSOR(I32, DIMS(), VALUES(10))), ATTR(StridedAttr, .shrink_mask = 1)),
  CASE("STRIDED_SLICE", "fewer indices than rank",
       IN(RANDOM(1, 4, 3, 2), INTS(0, 3), INTS(1, 0), INTS(1, -2)), OUT(RANDOM(1, 2, 3, 2))),
  CASE("STRIDED_SLICE", "last step of a sequence",
       IN(RANDOM(1, 4, 3), INTS(0, -1, 0), INTS(0, 0, 0), INTS(1, 1, 1)), OUT(RANDOM(1, 3)),
       ATTR(StridedAttr, .begin_mask = 5, .end_mask = 5, .shrink_mask = 2)),
  CASE("STRIDED_SLICE", "drops the batch", IN(RANDOM(1, 4, 3), INTS(0), INTS(1), INTS(1)),
       OUT(RANDOM(4, 3)), ATTR(StridedAttr, .shrink_mask = 1)),
  CASE("STRIDED_SLICE", "new axis before the batch",
       IN(RANDOM(1, 3), INTS(0, 0), INTS(0, 1), INTS(1, 1)), OUT(RANDOM(1, 1, 3)),
       ATTR(StridedAttr, .new_axis_mask = 1)),
  CASE("STRIDED_SLICE", "rows of a sample backwards", IN(RANDOM(3, 2), INTS(0), INTS(0), INTS(-1)),
       OUT(RANDOM(3, 2)), ATTR(StridedAttr, .begin_mask = 1, .end_mask = 1)),
  CASE("STRIDED_SLICE", "every second of a sample's rows",
       IN(RANDOM(5, 2), INTS(0), INTS(5), INTS(2)), OUT(RANDOM(3, 2))),
  CASE("STRIDED_SLICE", "rank 8 whole",
       IN(RANDOM(1, 2, 1, 2, 1, 2, 1, 2), INTS(0), INTS(1), INTS(1)),
       OUT(RANDOM(1, 2, 1, 2, 1, 2, 1, 2))),
  CASE("STRIDED_SLICE", "refused: stride 0", IN(X5, INTS(0), INTS(1), INTS(0)),
       .refusal = "stride 0 of index 0"),
  CASE("STRIDED_SLICE", "refused: element outside", IN(X5, INTS(5), INTS(6), INTS(1)),
       ATTR(StridedAttr, .shrink_mask = 1),
       .refusal = "index 5 is outside dimension 0 of shape [5]"),
  CASE("STRIDED_SLICE", "refused: indices", IN(X5, INTS(0, 0), INTS(1, 1), INTS(1, 1)),
       .refusal = "2 indices for an input of shape [5]"),
  CASE("STRIDED_SLICE", "refused: counts", IN(X, INTS(0, 0), INTS(1), INTS(1, 1)),
       .refusal = "2 begins, 1 ends and 2 strides"),
  CASE("STRIDED_SLICE", "refused: two ellipses", IN(X, INTS(0, 0), INTS(1, 1), INTS(1, 1)),
       ATTR(StridedAttr, .ellipsis_mask = 3), .refusal = "more than one ellipsis"),
  CASE("STRIDED_SLICE", "refused: rank 9",
       IN(RANDOM(1, 1, 1, 1, 1, 1, 1, 1), INTS(0), INTS(1), INTS(1)),
       ATTR(StridedAttr, .new_axis_mask = 1), .refusal = "more than 8 dimensions"),
  END_CASES};
