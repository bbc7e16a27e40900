// SPDX-License-Identifier: Apache-2.0
// Comparisons of two operands and logic of bools, with broadcasting. Results are bools, out of which
// no gradient comes.
#include "kernels/typed.h"
#include "ops/bindings.h"
#include "ops/op.h"

#include <math.h>
#include <string.h>

typedef struct {
  KernelCompare op;
  KernelType type;
  int64_t n;
  BroadcastShape s;
} Args;

static const struct {
  const char *name;
  KernelCompare op;
} comparisons[] = {{"EQUAL", KCMP_EQUAL},
                   {"NOT_EQUAL", KCMP_NOT_EQUAL},
                   {"LESS", KCMP_LESS},
                   {"LESS_EQUAL", KCMP_LESS_EQUAL},
                   {"GREATER", KCMP_GREATER},
                   {"GREATER_EQUAL", KCMP_GREATER_EQUAL},
                   {"LOGICAL_AND", KCMP_AND},
                   {"LOGICAL_OR", KCMP_OR}};

static KernelCompare comparison(const OpDef *op)
{
  size_t i = 0;
  while (i + 1 < COUNT_OF(comparisons) && strcmp(op->name, comparisons[i].name) != 0)
    ++i;
  return comparisons[i].op;
}

// Bools have no order, and logic is theirs only.
static Status check_type(const Infer *f, DType t)
{
  KernelCompare op = comparison(f->node->op);
  if (op == KCMP_AND || op == KCMP_OR)
    return t == DT_BOOL ? ST_OK
                        : infer_fail(f, "operands are %s, wanted bool", dtype_name(t));
  if (t == DT_BOOL && op != KCMP_EQUAL && op != KCMP_NOT_EQUAL)
    return infer_fail(f, "operands are bool, wanted numbers");
  switch (t) {
  case DT_F32: case DT_I32: case DT_I64: case DT_U8: case DT_I8: case DT_I16: case DT_BOOL:
    return ST_OK;
  default:
    return infer_fail(f, "operands are %s, wanted float32, int32, int64, bool or a smaller integer",
                      dtype_name(t));
  }
}

static Status infer(Infer *f)
{
  Shape out;
  TRY(infer_operands(f, &out));
  TRY(check_type(f, infer_in(f, 0)->dtype));
  return infer_out(f, 0, DT_BOOL, out);
}

static void run(const void *args, const Call *c)
{
  const Args *a = args;
  typed_compare(a->type, a->op, &a->s, c->p[0], c->p[1], c->p[2], c->pool);
}

static Status bind(Bind *b)
{
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  Shape x = bind_in(b, 0), y = bind_in(b, 1), out = bind_out(b, 0);
  a->op = comparison(b->node->op);
  a->type = kernel_type(bind_type(b, 0));
  a->s = broadcast_shape(&out, &x, &y, NULL);
  b->run = run;
  return ST_OK;
}

static Status infer_not(Infer *f)
{
  TRY(infer_expect(f, 0, DT_BOOL, -1));
  return infer_out(f, 0, DT_BOOL, infer_in(f, 0)->shape);
}

static void run_not(const void *args, const Call *c)
{
  typed_not(c->p[0], c->p[1], ((const Args *)args)->n, c->pool);
}

static Status bind_not(Bind *b)
{
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  Shape s = bind_out(b, 0);
  a->n = shape_numel(&s);
  b->run = run_not;
  return ST_OK;
}

#define COMPARE(NAME, number, tag)                                                                 \
  {                                                                                                \
    .name = NAME, .code = number, .options = tag, .min_in = 2, .max_in = 2, .n_out = 1,            \
    .infer = infer, .merge = merge_elementwise, .bind = bind,                                      \
    .no_grad = "a truth value has no slope"                                                        \
  }

const OpDef compare_ops[] = {
  COMPARE("EQUAL", 71, 53),
  COMPARE("NOT_EQUAL", 72, 54),
  COMPARE("LESS", 58, 41),
  COMPARE("LESS_EQUAL", 63, 46),
  COMPARE("GREATER", 61, 44),
  COMPARE("GREATER_EQUAL", 62, 45),
  COMPARE("LOGICAL_AND", 86, 62),
  COMPARE("LOGICAL_OR", 84, 60),
  {.name = "LOGICAL_NOT", .code = 87, .options = 63, .min_in = 1, .max_in = 1, .n_out = 1,
   .infer = infer_not, .merge = merge_always, .bind = bind_not,
   .no_grad = "a truth value has no slope"},
  END_OPS};

#define F5(...) TENSOR(F32, DIMS(5), VALUES(__VA_ARGS__))
#define I4(TYPE, ...) TENSOR(TYPE, DIMS(4), VALUES(__VA_ARGS__))
#define BOOLS(...) TENSOR(BOOL, DIMS(4), VALUES(__VA_ARGS__))
#define OF_FLOATS(OP, ...)                                                                         \
  CASE(OP, "float32", IN(F5(0, 1, 2, 1, NAN), F5(1, 1, 1, NAN, NAN)),                              \
       OUT(TENSOR(BOOL, DIMS(5), VALUES(__VA_ARGS__))))
#define BROADCASTS(OP)                                                                             \
  CASE(OP, "broadcast both ways",                                                                  \
       IN(TENSOR(I32, DIMS(1, 3, 1)), TENSOR(I32, DIMS(2, 1, 4))),                                 \
       OUT(TENSOR(BOOL, DIMS(2, 3, 4)))),                                                          \
  CASE(OP, "a scalar", IN(RANDOM(2, 3), RANDOM()), OUT(TENSOR(BOOL, DIMS(2, 3)))),                 \
  CASE(OP, "no elements", IN(RANDOM(0, 3), RANDOM(3)), OUT(TENSOR(BOOL, DIMS(0, 3)))),             \
  CASE(OP, "refused: shapes", IN(RANDOM(2, 3), RANDOM(2)),                                         \
       .refusal = "[2,3] and [2] do not broadcast"),                                               \
  CASE(OP, "refused: types", IN(RANDOM(2), TENSOR(I32, DIMS(2))), .refusal = "float32 and int32"), \
  CASE(OP, "refused: float16", IN(TENSOR(F16, DIMS(2)), TENSOR(F16, DIMS(2))),                     \
       .refusal = "operands are float16, wanted float32")

const OpCase compare_cases[] = {
  BROADCASTS("EQUAL"),
  BROADCASTS("NOT_EQUAL"),
  BROADCASTS("LESS"),
  BROADCASTS("LESS_EQUAL"),
  BROADCASTS("GREATER"),
  BROADCASTS("GREATER_EQUAL"),
  OF_FLOATS("EQUAL", 0, 1, 0, 0, 0),
  OF_FLOATS("NOT_EQUAL", 1, 0, 1, 1, 1),
  OF_FLOATS("LESS", 1, 0, 0, 0, 0),
  OF_FLOATS("LESS_EQUAL", 1, 1, 0, 0, 0),
  OF_FLOATS("GREATER", 0, 0, 1, 0, 0),
  OF_FLOATS("GREATER_EQUAL", 0, 1, 1, 0, 0),
  CASE("EQUAL", "bool of any byte", IN(BOOLS(0, 1, 2, 0), BOOLS(0, 1, 1, 3)),
       OUT(BOOLS(1, 1, 1, 0))),
  CASE("NOT_EQUAL", "bool", IN(BOOLS(0, 1, 1, 0), BOOLS(0, 1, 0, 1)), OUT(BOOLS(0, 0, 1, 1))),
  CASE("LESS", "int32", IN(I4(I32, -5, 3, 3, 2147483647), I4(I32, 2, 3, -3, -2147483648.0)),
       OUT(BOOLS(1, 0, 0, 0))),
  CASE("LESS", "int64", IN(I4(I64, -8e15, 7, 8, 8e15), TENSOR(I64, DIMS(1), VALUES(7))),
       OUT(BOOLS(1, 0, 0, 0))),
  CASE("GREATER_EQUAL", "uint8", IN(I4(U8, 200, 3, 3, 0), I4(U8, 2, 3, 4, 255)),
       OUT(BOOLS(1, 1, 0, 0))),
  CASE("GREATER", "int8", IN(I4(I8, -100, 3, 3, 0), I4(I8, 2, 3, -4, 127)),
       OUT(BOOLS(0, 0, 1, 0))),
  CASE("LESS_EQUAL", "int16", IN(I4(I16, -300, 3, 3, 0), I4(I16, 2, 3, -4, 127)),
       OUT(BOOLS(1, 1, 0, 1))),
  CASE("LESS", "refused: bool", IN(BOOLS(0, 1, 1, 0), BOOLS(0, 1, 0, 1)),
       .refusal = "operands are bool, wanted numbers"),
  CASE("LOGICAL_AND", "values", IN(BOOLS(0, 0, 1, 1), BOOLS(0, 1, 0, 1)), OUT(BOOLS(0, 0, 0, 1))),
  CASE("LOGICAL_AND", "a column and a row",
       IN(TENSOR(BOOL, DIMS(2, 1), VALUES(0, 1)), TENSOR(BOOL, DIMS(2), VALUES(1, 0))),
       OUT(TENSOR(BOOL, DIMS(2, 2), VALUES(0, 0, 1, 0)))),
  CASE("LOGICAL_AND", "refused: int32", IN(I4(I32, 0, 1, 0, 1), I4(I32, 0, 1, 1, 0)),
       .refusal = "operands are int32, wanted bool"),
  CASE("LOGICAL_OR", "values", IN(BOOLS(0, 0, 1, 1), BOOLS(0, 1, 0, 1)), OUT(BOOLS(0, 1, 1, 1))),
  CASE("LOGICAL_OR", "a scalar", IN(BOOLS(0, 0, 1, 1), TENSOR(BOOL, DIMS(), VALUES(0))),
       OUT(BOOLS(0, 0, 1, 1))),
  CASE("LOGICAL_OR", "refused: float32", IN(RANDOM(4), RANDOM(4)),
       .refusal = "operands are float32, wanted bool"),
  CASE("LOGICAL_NOT", "values", IN(BOOLS(0, 1, 2, 0)), OUT(BOOLS(1, 0, 0, 1))),
  CASE("LOGICAL_NOT", "a scalar", IN(TENSOR(BOOL, DIMS(), VALUES(1))),
       OUT(TENSOR(BOOL, DIMS(), VALUES(0)))),
  CASE("LOGICAL_NOT", "rank 3", IN(TENSOR(BOOL, DIMS(2, 3, 4))), OUT(TENSOR(BOOL, DIMS(2, 3, 4)))),
  CASE("LOGICAL_NOT", "refused: int32", IN(I4(I32, 0, 1, 2, 3)),
       .refusal = "is int32, wanted bool"),
  END_CASES};
