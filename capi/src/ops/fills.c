// SPDX-License-Identifier: Apache-2.0
// FILL and RANGE: values that depend on no data but FILL's one element.
#include "kernels/move.h"
#include "ops/attrs.h"
#include "ops/bindings.h"

#include <math.h>

typedef struct {
  int64_t n;
  int32_t bytes;
} FillArgs;

static void run_fill(const void *args, const Call *c)
{
  const FillArgs *a = args;
  move_fill(c->p[2], c->p[1], a->n, a->bytes, c->pool);
}

static Status bind_fill(Bind *b)
{
  FillArgs *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  Shape y = bind_out(b, 0);
  *a = (FillArgs){shape_numel(&y), (int32_t)dtype_bytes(bind_type(b, 1))};
  b->run = run_fill;
  return ST_OK;
}

// FILL(dims, value)
static Status infer_fill(Infer *f)
{
  const Tensor *value = infer_in(f, 1);
  int64_t dims[MAX_RANK];
  Shape y = {0};
  TRY(infer_ints(f, 0, dims, MAX_RANK, &y.rank));
  if (shape_numel(&value->shape) != 1)
    return infer_fail(f, "the value has shape %s, wanted one element",
                      shape_text(&value->shape).text);
  for (int i = 0; i < y.rank; ++i) {
    if (dims[i] < 0 || dims[i] > INT32_MAX)
      return infer_fail(f, "dimension %d is %lld", i, (long long)dims[i]);
    y.dim[i] = (int32_t)dims[i];
  }
  return infer_out(f, 0, value->dtype, y);
}

static Status grad_fill(Grad *g)
{
  if (!grad_wants(g, 1))
    return ST_OK;
  const Shape value = grad_tensor(g, grad_of(g)->in[1])->shape;
  int32_t dy = grad_out(g, 0);
  int32_t t = grad_node(g, "SUM_TO", &(SumToAttr){.shape = {0}}, 1, &dy);
  if (value.rank > 0)
    t = grad_node(g, "RESHAPE_TO", &(ReshapeToAttr){.shape = value}, 1, &t);
  grad_give(g, 1, t);
  return ST_OK;
}

// Nothing comes back from a constant.
static Status grad_none(Grad *g)
{
  (void)g;
  return ST_OK;
}

// ---- RANGE(start, limit, delta) ----

typedef struct {
  int64_t n;
  DType type;
} RangeArgs;

// Three constants of one type, as doubles where they are floats.
static Status read_floats(Infer *f, double *v)
{
  for (int i = 0; i < 3; ++i) {
    const Tensor *t = infer_in(f, i);
    TRY(infer_expect(f, i, DT_F32, -1));
    // A parameter would do: no gradient comes here that could change it.
    bool is_known = t->kind == TK_CONST || t->kind == TK_PARAM;
    if (!is_known || shape_numel(&t->shape) != 1)
      return infer_fail(f, "input %d ('%s') must be one constant", i, t->name);
    v[i] = (double)*(const float *)t->data;
  }
  return ST_OK;
}

static Status count_floats(Infer *f, double *n)
{
  double v[3];
  TRY(read_floats(f, v));
  *n = ceil((v[1] - v[0]) / v[2]);
  // NaN compares false
  if (!(v[2] != 0 && *n >= 0 && *n <= INT32_MAX))
    return infer_fail(f, "from %g to %g by %g is no range", v[0], v[1], v[2]);
  return ST_OK;
}

static Status read_ints(Infer *f, int64_t *v)
{
  for (int i = 0; i < 3; ++i) {
    int n = 0;
    TRY(infer_ints(f, i, &v[i], 1, &n));
    if (n != 1 || infer_in(f, i)->dtype != infer_in(f, 0)->dtype)
      return infer_fail(f, "input %d ('%s') must be one %s", i, infer_in(f, i)->name,
                        dtype_name(infer_in(f, 0)->dtype));
  }
  return ST_OK;
}

static Status count_ints(Infer *f, double *n)
{
  int64_t v[3];
  TRY(read_ints(f, v));
  bool up = v[1] > v[0];
  // Distances of int64 fit uint64.
  uint64_t distance = up ? (uint64_t)v[1] - (uint64_t)v[0] : (uint64_t)v[0] - (uint64_t)v[1];
  uint64_t step = v[2] < 0 ? 0 - (uint64_t)v[2] : (uint64_t)v[2];
  uint64_t count = step ? distance / step + (distance % step != 0) : 0;
  if (step == 0 || (distance && up != (v[2] > 0)) || count > INT32_MAX)
    return infer_fail(f, "from %lld to %lld by %lld is no range", (long long)v[0],
                      (long long)v[1], (long long)v[2]);
  *n = (double)count;
  return ST_OK;
}

static Status infer_range(Infer *f)
{
  const DType type = infer_in(f, 0)->dtype;
  double n = 0;
  TRY(type == DT_F32 ? count_floats(f, &n) : count_ints(f, &n));
  return infer_out(f, 0, type, (Shape){.rank = 1, .dim = {(int32_t)n}});
}

static void run_range(const void *args, const Call *c)
{
  const RangeArgs *a = args;
  switch (a->type) {
  case DT_F32:
    move_range_f32(c->p[3], *(const float *)c->p[0], *(const float *)c->p[2], a->n);
    break;
  case DT_I32:
    move_range_i32(c->p[3], *(const int32_t *)c->p[0], *(const int32_t *)c->p[2], a->n);
    break;
  default:
    move_range_i64(c->p[3], *(const int64_t *)c->p[0], *(const int64_t *)c->p[2], a->n);
  }
}

static Status bind_range(Bind *b)
{
  RangeArgs *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  *a = (RangeArgs){b->g->tensors[b->node->out[0]].shape.dim[0], bind_type(b, 0)};
  b->run = run_range;
  return ST_OK;
}

const OpDef fills_ops[] = {
  {.name = "FILL", .code = 94, .options = 68, .min_in = 2, .max_in = 2, .n_out = 1,
   .infer = infer_fill, .bind = bind_fill, .grad = grad_fill},
  {.name = "RANGE", .code = 96, .options = 73, .min_in = 3, .max_in = 3, .n_out = 1,
   .infer = infer_range, .bind = bind_range, .grad = grad_none},
  END_OPS};

#define ONE(TYPE, v) CONSTANT(TYPE, DIMS(), VALUES(v))

const OpCase fills_cases[] = {
  CASE("FILL", "float", IN(INTS(2, 2), TENSOR(F32, DIMS(), VALUES(3))),
       OUT(TENSOR(F32, DIMS(2, 2), VALUES(3, 3, 3, 3)))),
  CASE("FILL", "int64 dimensions and value",
       IN(CONSTANT(I64, DIMS(1), VALUES(3)), TENSOR(I64, DIMS(1), VALUES(-5))),
       OUT(TENSOR(I64, DIMS(3), VALUES(-5, -5, -5)))),
  CASE("FILL", "truth", IN(INTS(2), TENSOR(BOOL, DIMS(), VALUES(1))),
       OUT(TENSOR(BOOL, DIMS(2), VALUES(1, 1)))),
  CASE("FILL", "a scalar", IN(CONSTANT(I32, DIMS(0)), TENSOR(I16, DIMS(1), VALUES(-300))),
       OUT(TENSOR(I16, DIMS(), VALUES(-300)))),
  CASE("FILL", "nothing", IN(INTS(2, 0), RANDOM()), OUT(RANDOM(2, 0))),
  CASE("FILL", "an image", IN(INTS(1, 3, 4, 2), RANDOM(1, 1)), OUT(RANDOM(1, 3, 4, 2))),
  CASE("FILL", "more than is kept as a constant", IN(INTS(2, 600, 600), RANDOM()),
       OUT(RANDOM(2, 600, 600)), .no_numeric_grad = true),
  CASE("FILL", "refused: negative", IN(INTS(2, -1), RANDOM()), .refusal = "dimension 1 is -1"),
  CASE("FILL", "refused: value", IN(INTS(2), RANDOM(2)),
       .refusal = "the value has shape [2], wanted one element"),
  CASE("FILL", "refused: dimensions of the data", IN(TENSOR(I32, DIMS(2)), RANDOM()),
       .refusal = "must be constant"),
  CASE("FILL", "refused: too many elements",
       IN(INTS(2147483647, 2147483647, 2147483647), RANDOM()), .refusal = "impossible shape"),
  CASE("RANGE", "upwards", IN(ONE(I32, 2), ONE(I32, 9), ONE(I32, 3)),
       OUT(TENSOR(I32, DIMS(3), VALUES(2, 5, 8)))),
  CASE("RANGE", "downwards, int64", IN(ONE(I64, 3), ONE(I64, -1), ONE(I64, -2)),
       OUT(TENSOR(I64, DIMS(2), VALUES(3, 1)))),
  CASE("RANGE", "floats", IN(ONE(F32, 0.5), ONE(F32, 2), ONE(F32, 0.5)),
       OUT(TENSOR(F32, DIMS(3), VALUES(0.5, 1, 1.5)))),
  CASE("RANGE", "nothing", IN(ONE(I32, 4), ONE(I32, 4), ONE(I32, 1)), OUT(TENSOR(I32, DIMS(0)))),
  CASE("RANGE", "from the lowest to the highest",
       IN(ONE(I32, -2147483648.0), ONE(I32, 2147483647), ONE(I32, 2147483647)),
       OUT(TENSOR(I32, DIMS(3), VALUES(-2147483648.0, -1, 2147483646)))),
  CASE("RANGE", "refused: away", IN(ONE(I32, 0), ONE(I32, 5), ONE(I32, -1)),
       .refusal = "from 0 to 5 by -1 is no range"),
  CASE("RANGE", "refused: no step", IN(ONE(I32, 0), ONE(I32, 5), ONE(I32, 0)),
       .refusal = "from 0 to 5 by 0 is no range"),
  CASE("RANGE", "refused: no float step", IN(ONE(F32, 0), ONE(F32, 0), ONE(F32, 0)),
       .refusal = "from 0 to 0 by 0 is no range"),
  CASE("RANGE", "refused: NaN", IN(ONE(F32, 0), ONE(F32, NAN), ONE(F32, 1)),
       .refusal = "is no range"),
  CASE("RANGE", "refused: too many", IN(ONE(I64, 0), ONE(I64, 9e18), ONE(I64, 1)),
       .refusal = "is no range"),
  CASE("RANGE", "refused: types", IN(ONE(I32, 0), ONE(I64, 5), ONE(I32, 1)),
       .refusal = "must be one int32"),
  CASE("RANGE", "refused: a vector", IN(ONE(F32, 0), CONSTANT(F32, DIMS(2), VALUES(1, 2)),
          ONE(F32, 1)), .refusal = "must be one constant"),
  CASE("RANGE", "refused: data", IN(ONE(I32, 0), TENSOR(I32, DIMS()), ONE(I32, 1)),
       .refusal = "must be constant"),
  END_CASES};
