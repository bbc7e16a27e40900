// SPDX-License-Identifier: Apache-2.0
// SHAPE and RANK: constants, since shapes are known when a graph is compiled.
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
  enum { UNSTATED = 0, INT32 = 2, INT64 = 4, UINT32 = 15 };
  // An out_type of 0 (float32) is the schema's default; files mean int32 by it.
  if (type != UNSTATED && type != INT32 && type != INT64 && type != UINT32)
    return diag_fail(d, ST_ERROR, "out_type is %d, wanted int32, int64 or uint32", type);
  ((ShapeAttr *)attr)->type = type == INT64 ? DT_I64 : type == UINT32 ? DT_U32 : DT_I32;
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
    else // uint32 has the same bits
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

static Status infer_rank(Infer *f)
{
  return infer_out(f, 0, DT_I32, (Shape){0});
}

static void run_rank(const void *args, const Call *c)
{
  *(int32_t *)c->p[1] = *(const int32_t *)args;
}

static Status bind_rank(Bind *b)
{
  int32_t *rank = bind_args(b, sizeof *rank);
  if (!rank)
    return diag_oom(b->diag);
  *rank = b->g->tensors[b->node->in[0]].shape.rank;
  b->run = run_rank;
  return ST_OK;
}

const OpDef shapeof_ops[] = {
  {.name = "SHAPE", .code = 77, .options = 55, .min_in = 1, .max_in = 1, .n_out = 1,
   .shape_only = 1u << 0, .attr_bytes = sizeof(ShapeAttr), .parse = parse, .infer = infer,
   .bind = bind, .no_grad = "a shape is no function of the data"},
  {.name = "RANK", .code = 110, .options = 86, .min_in = 1, .max_in = 1, .n_out = 1,
   .shape_only = 1u << 0, .infer = infer_rank, .bind = bind_rank,
   .no_grad = "a rank is no function of the data"},
  END_OPS};

const OpCase shapeof_cases[] = {
  CASE("SHAPE", "no options", IN(RANDOM(1, 5, 3)), OUT(TENSOR(I32, DIMS(3), VALUES(1, 5, 3)))),
  CASE("SHAPE", "int64", IN(TENSOR(U8, DIMS(2, 0))), OUT(TENSOR(I64, DIMS(2), VALUES(2, 0))),
       OPTIONS(OPT_BYTE(0, 4))),
  CASE("SHAPE", "of a scalar", IN(RANDOM()), OUT(TENSOR(I32, DIMS(0))), OPTIONS(OPT_BYTE(0, 2))),
  CASE("SHAPE", "uint32", IN(RANDOM(3)), OUT(TENSOR(U32, DIMS(1), VALUES(3))),
       OPTIONS(OPT_BYTE(0, 15))),
  CASE("SHAPE", "refused", IN(RANDOM(2)), OPTIONS(OPT_BYTE(0, 9)),
       .refusal = "out_type is 9, wanted int32, int64 or uint32"),
  CASE("RANK", "of an image", IN(RANDOM(1, 2, 2, 3)), OUT(TENSOR(I32, DIMS(), VALUES(4)))),
  CASE("RANK", "of a scalar", IN(TENSOR(U8, DIMS())), OUT(TENSOR(I32, DIMS(), VALUES(0)))),
  END_CASES};
