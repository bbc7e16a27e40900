// SPDX-License-Identifier: Apache-2.0
// SHAPE: a constant, since shapes are known when a graph is compiled.
#include "ops/op.h"

typedef struct {
  DType type;
} ShapeAttr;

typedef struct {
  DType type;
  Shape shape;
} Args;

static Status parse(const FbTable *options, void *attr, int *act, Diag *d)
{
  (void)act;
  int8_t type = fb_i8(*options, 0, 2);
  // An out_type of 0 (float32) is the schema's default; files mean int32 by it.
  if (type != 0 && type != 2 && type != 4)
    return diag_fail(d, ST_ERROR, "out_type is %d, wanted int32 or int64", type);
  ((ShapeAttr *)attr)->type = type == 4 ? DT_I64 : DT_I32;
  return ST_OK;
}

static Status infer(Infer *f)
{
  return infer_out(f, 0, ((const ShapeAttr *)f->node->attr)->type,
                   (Shape){.rank = 1, .dim = {infer_in(f, 0)->shape.rank}});
}

static void run(const void *args, const Call *c)
{
  const Args *a = args;
  for (int i = 0; i < a->shape.rank; ++i)
    if (a->type == DT_I64)
      ((int64_t *)c->p[1])[i] = a->shape.dim[i];
    else
      ((int32_t *)c->p[1])[i] = a->shape.dim[i];
}

static Status bind(Bind *b)
{
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  *a = (Args){((const ShapeAttr *)b->node->attr)->type, b->g->tensors[b->node->in[0]].shape};
  b->run = run;
  return ST_OK;
}

const OpDef shapeof_ops[] = {
  {.name = "SHAPE", .code = 77, .options = 55, .min_in = 1, .max_in = 1, .n_out = 1,
   .attr_bytes = sizeof(ShapeAttr), .parse = parse, .infer = infer, .bind = bind,
   .no_grad = "a shape is no function of the data"},
  END_OPS};

const OpCase shapeof_cases[] = {
  CASE("SHAPE", "no options", IN(RANDOM(1, 5, 3)), OUT(TENSOR(I32, DIMS(3), VALUES(1, 5, 3)))),
  CASE("SHAPE", "int64", IN(TENSOR(U8, DIMS(2, 0))), OUT(TENSOR(I64, DIMS(2), VALUES(2, 0))),
       OPTIONS(OPT_BYTE(0, 4))),
  CASE("SHAPE", "of a scalar", IN(RANDOM()), OUT(TENSOR(I32, DIMS(0))), OPTIONS(OPT_BYTE(0, 2))),
  CASE("SHAPE", "refused", IN(RANDOM(2)), OPTIONS(OPT_BYTE(0, 9)),
       .refusal = "out_type is 9, wanted int32 or int64"),
  END_CASES};
