// SPDX-License-Identifier: Apache-2.0
// RESHAPE, SQUEEZE, EXPAND_DIMS: another shape for the same bytes. They cost nothing.
#include "ops/attrs.h"
#include "ops/op.h"

typedef struct {
  Shape shape;
  bool given;
} ReshapeAttr;

typedef struct {
  int32_t n;
  int32_t dims[MAX_RANK];
} SqueezeAttr;

static Status parse_reshape(const FbTable *options, void *attr, int *act, Diag *d)
{
  (void)act;
  ReshapeAttr *a = attr;
  FbVector v = fb_vector(*options, 0);
  if (v.n > MAX_RANK)
    return diag_fail(d, ST_ERROR, "new_shape has %u dimensions, at most %d are supported", v.n,
                     MAX_RANK);
  a->given = v.present;
  a->shape.rank = (int32_t)v.n;
  for (uint32_t i = 0; i < v.n; ++i)
    a->shape.dim[i] = fb_vec_i32(v, i);
  return ST_OK;
}

static Status infer_reshape(Infer *f)
{
  const ReshapeAttr *a = f->node->attr;
  const Tensor *x = infer_in(f, 0);
  Shape out = a->shape;
  if (infer_in(f, 1)) {
    int64_t dims[MAX_RANK];
    TRY(infer_ints(f, 1, dims, MAX_RANK, &out.rank));
    for (int i = 0; i < out.rank; ++i) {
      if (dims[i] < -1 || dims[i] > INT32_MAX)
        return infer_fail(f, "dimension %d of the target is %lld", i, (long long)dims[i]);
      out.dim[i] = (int32_t)dims[i];
    }
  } else if (!a->given) {
    return infer_fail(f, "there is neither a shape operand nor a new_shape option");
  }
  int64_t numel = shape_numel(&x->shape), known = 1;
  int rest = -1;
  for (int i = 0; i < out.rank; ++i) {
    if (out.dim[i] < -1)
      return infer_fail(f, "dimension %d of target %s is negative", i, shape_text(&out).text);
    if (out.dim[i] < 0 && rest >= 0)
      return infer_fail(f, "target %s has more than one unknown dimension",
                        shape_text(&out).text);
    if (out.dim[i] < 0)
      rest = i;
    else if (__builtin_mul_overflow(known, (int64_t)out.dim[i], &known))
      return infer_fail(f, "target %s is too large", shape_text(&out).text);
  }
  Shape target = out;
  if (rest >= 0 && known > 0 && numel % known == 0 && numel / known <= INT32_MAX)
    out.dim[rest] = (int32_t)(numel / known);
  int64_t count = 0;
  if (!shape_numel_checked(&out, &count) || count != numel)
    return infer_fail(f, "input of shape %s does not fit target %s", shape_text(&x->shape).text,
                      shape_text(&target).text);
  return infer_out(f, 0, x->dtype, out);
}

static Status parse_squeeze(const FbTable *options, void *attr, int *act, Diag *d)
{
  (void)act;
  SqueezeAttr *a = attr;
  FbVector v = fb_vector(*options, 0);
  if (v.n > MAX_RANK)
    return diag_fail(d, ST_ERROR, "squeeze_dims has %u entries, at most %d are supported", v.n,
                     MAX_RANK);
  a->n = (int32_t)v.n;
  for (uint32_t i = 0; i < v.n; ++i)
    a->dims[i] = fb_vec_i32(v, i);
  return ST_OK;
}

static Status infer_squeeze(Infer *f)
{
  const SqueezeAttr *a = f->node->attr;
  const Tensor *x = infer_in(f, 0);
  bool drop[MAX_RANK] = {0};
  for (int i = 0; i < a->n; ++i) {
    int axis;
    if (!shape_axis(a->dims[i], x->shape.rank, &axis) || x->shape.dim[axis] != 1)
      return infer_fail(f, "dimension %d of shape %s is not 1", a->dims[i],
                        shape_text(&x->shape).text);
    drop[axis] = true;
  }
  Shape out = {0};
  for (int i = 0; i < x->shape.rank; ++i)
    if (!(drop[i] || (a->n == 0 && x->shape.dim[i] == 1)))
      out.dim[out.rank++] = x->shape.dim[i];
  return infer_out(f, 0, x->dtype, out);
}

static Status infer_expand(Infer *f)
{
  const Tensor *x = infer_in(f, 0);
  int64_t value;
  int n = 0, axis;
  TRY(infer_ints(f, 1, &value, 1, &n));
  if (n != 1 || x->shape.rank == MAX_RANK || !shape_axis(value, x->shape.rank + 1, &axis))
    return infer_fail(f, "axis %lld does not fit an input of shape %s",
                      (long long)(n ? value : 0), shape_text(&x->shape).text);
  Shape out = x->shape;
  for (int i = out.rank; i > axis; --i)
    out.dim[i] = out.dim[i - 1];
  out.dim[axis] = 1;
  ++out.rank;
  return infer_out(f, 0, x->dtype, out);
}

// dx = dy in the shape of x
static Status grad(Grad *g)
{
  ReshapeToAttr attr = {.shape = grad_tensor(g, grad_of(g)->in[0])->shape};
  grad_give(g, 0, grad_node(g, "RESHAPE_TO", &attr, 1, (int32_t[]){grad_out(g, 0)}));
  return ST_OK;
}

static Status infer_reshape_to(Infer *f)
{
  return infer_out(f, 0, infer_in(f, 0)->dtype, ((const ReshapeToAttr *)f->node->attr)->shape);
}

const OpDef reshape_ops[] = {
  {.name = "RESHAPE", .code = 22, .options = 17, .min_in = 1, .max_in = 2, .n_out = 1,
   .flags = OP_ALIAS, .optional = 1u << 1, .attr_bytes = sizeof(ReshapeAttr),
   .parse = parse_reshape, .infer = infer_reshape, .grad = grad},
  {.name = "SQUEEZE", .code = 43, .options = 30, .min_in = 1, .max_in = 1, .n_out = 1,
   .flags = OP_ALIAS, .attr_bytes = sizeof(SqueezeAttr), .parse = parse_squeeze,
   .infer = infer_squeeze, .grad = grad},
  {.name = "EXPAND_DIMS", .code = 70, .options = 52, .min_in = 2, .max_in = 2, .n_out = 1,
   .flags = OP_ALIAS, .infer = infer_expand, .grad = grad},
  {.name = "RESHAPE_TO", .code = OP_NOT_IN_FILES, .flags = OP_ALIAS,
   .attr_bytes = sizeof(ReshapeToAttr), .infer = infer_reshape_to},
  END_OPS};

#define X TENSOR(F32, DIMS(1, 2, 3), VALUES(1, 2, 3, 4, 5, 6))

const OpCase reshape_cases[] = {
  CASE("RESHAPE", "an operand", IN(X, INTS(3, 2)),
       OUT(TENSOR(F32, DIMS(3, 2), VALUES(1, 2, 3, 4, 5, 6)))),
  CASE("RESHAPE", "the rest, int64", IN(X, CONSTANT(I64, DIMS(2), VALUES(-1, 6))),
       OUT(TENSOR(F32, DIMS(1, 6), VALUES(1, 2, 3, 4, 5, 6)))),
  CASE("RESHAPE", "the option", IN(X), OUT(TENSOR(F32, DIMS(2, 1, 3), VALUES(1, 2, 3, 4, 5, 6))),
       OPTIONS(OPT_INTS(0, 2, -1, 3))),
  CASE("RESHAPE", "the operand wins", IN(X, INTS(6)),
       OUT(TENSOR(F32, DIMS(6), VALUES(1, 2, 3, 4, 5, 6))), OPTIONS(OPT_INTS(0, 7, 7))),
  CASE("RESHAPE", "bytes", IN(TENSOR(U8, DIMS(2, 2), VALUES(1, 2, 3, 4)), INTS(4)),
       OUT(TENSOR(U8, DIMS(4), VALUES(1, 2, 3, 4)))),
  CASE("RESHAPE", "no elements", IN(RANDOM(0, 3), INTS(-1, 3)), OUT(RANDOM(0, 3))),
  CASE("RESHAPE", "to a scalar", IN(RANDOM(1, 1), CONSTANT(I32, DIMS(0))), OUT(RANDOM())),
  CASE("RESHAPE", "flatten", IN(RANDOM(1, 3, 4, 2), INTS(1, 24)), OUT(RANDOM(1, 24))),
  CASE("RESHAPE", "rank 8", IN(RANDOM(4, 6), INTS(1, 2, 2, 1, 2, 1, 3, 1)),
       OUT(RANDOM(1, 2, 2, 1, 2, 1, 3, 1))),
  CASE("RESHAPE", "refused: count", IN(X, INTS(4, 2)),
       .refusal = "input of shape [1,2,3] does not fit target [4,2]"),
  CASE("RESHAPE", "refused: no whole rest", IN(X, INTS(-1, 4)),
       .refusal = "does not fit target [-1,4]"),
  CASE("RESHAPE", "refused: two unknown", IN(X, INTS(-1, -1)),
       .refusal = "more than one unknown dimension"),
  CASE("RESHAPE", "refused: negative option", IN(X), OPTIONS(OPT_INTS(0, -2, 3)),
       .refusal = "dimension 0 of target [-2,3] is negative"),
  CASE("RESHAPE", "refused: too large", IN(X, INTS(2147483647, 2147483647, 2147483647)),
       .refusal = "is too large"),
  CASE("RESHAPE", "refused: no shape", IN(X),
       .refusal = "neither a shape operand nor a new_shape option"),
  CASE("RESHAPE", "refused: not constant", IN(X, TENSOR(I32, DIMS(2))),
       .refusal = "must be constant"),
  CASE("SQUEEZE", "all", IN(TENSOR(F32, DIMS(1, 2, 1), VALUES(1, 2))),
       OUT(TENSOR(F32, DIMS(2), VALUES(1, 2)))),
  CASE("SQUEEZE", "named", IN(TENSOR(F32, DIMS(1, 2, 1), VALUES(1, 2))),
       OUT(TENSOR(F32, DIMS(1, 2), VALUES(1, 2))), OPTIONS(OPT_INTS(0, -1))),
  CASE("SQUEEZE", "keeps the batch", IN(RANDOM(1, 1, 1, 5)), OUT(RANDOM(1, 5)),
       OPTIONS(OPT_INTS(0, 1, 2))),
  CASE("SQUEEZE", "refused", IN(X), OPTIONS(OPT_INTS(0, 1)),
       .refusal = "dimension 1 of shape [1,2,3] is not 1"),
  CASE("EXPAND_DIMS", "first", IN(TENSOR(F32, DIMS(2), VALUES(1, 2)), INTS(0)),
       OUT(TENSOR(F32, DIMS(1, 2), VALUES(1, 2)))),
  CASE("EXPAND_DIMS", "last, int64",
       IN(TENSOR(F32, DIMS(2), VALUES(1, 2)), CONSTANT(I64, DIMS(), VALUES(-1))),
       OUT(TENSOR(F32, DIMS(2, 1), VALUES(1, 2)))),
  CASE("EXPAND_DIMS", "between", IN(RANDOM(2, 3), INTS(1)), OUT(RANDOM(2, 1, 3))),
  CASE("EXPAND_DIMS", "refused", IN(RANDOM(2, 3), INTS(3)),
       .refusal = "axis 3 does not fit an input of shape [2,3]"),
  END_CASES};
