// SPDX-License-Identifier: Apache-2.0
// CAST between element types, and ZEROS_LIKE.
#include "kernels/move.h"
#include "kernels/typed.h"
#include "ops/bindings.h"
#include "ops/op.h"

#include <math.h>

typedef struct {
  KernelType from, to;
  int32_t bytes; // of an element of the result
  int64_t n;
} Args;

// The types are those of the tensors; what the options say about them adds nothing.
static Status infer_cast(Infer *f)
{
  return infer_out(f, 0, f->g->tensors[f->node->out[0]].dtype, infer_in(f, 0)->shape);
}

static Status infer_zeros(Infer *f)
{
  return infer_out(f, 0, infer_in(f, 0)->dtype, infer_in(f, 0)->shape);
}

static void run_cast(const void *args, const Call *c)
{
  const Args *a = args;
  typed_cast(a->from, a->to, c->p[0], c->p[1], a->n, c->pool);
}

static void run_zeros(const void *args, const Call *c)
{
  const Args *a = args;
  move_fill(c->p[1], &(uint64_t){0}, a->n, a->bytes, c->pool);
}

static Status bind(Bind *b)
{
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  Shape s = bind_out(b, 0);
  DType out = b->g->tensors[b->node->out[0]].dtype;
  a->from = kernel_type(bind_type(b, 0));
  a->to = kernel_type(out);
  a->bytes = (int32_t)dtype_bytes(out);
  a->n = shape_numel(&s);
  b->run = b->node->op->shape_only ? run_zeros : run_cast;
  return ST_OK;
}

// Only from float32 to itself: no gradient comes out of other types, and none goes into them.
static Status grad_cast(Grad *g)
{
  grad_give(g, 0, grad_out(g, 0));
  return ST_OK;
}

static Status grad_zeros(Grad *g)
{
  int32_t dy = grad_out(g, 0);
  grad_give(g, 0, grad_node(g, "ZEROS_LIKE", NULL, 1, &dy));
  return ST_OK;
}

const OpDef cast_ops[] = {
  {.name = "CAST", .code = 53, .options = 37, .min_in = 1, .max_in = 1, .n_out = 1,
   .flags = OP_READS_STORED | OP_WRITES_STORED, .infer = infer_cast, .merge = merge_always, .bind = bind, .grad = grad_cast},
  {.name = "ZEROS_LIKE", .code = 93, .options = 67, .min_in = 1, .max_in = 1, .n_out = 1,
   .shape_only = 1u << 0, .infer = infer_zeros, .merge = merge_always, .bind = bind,
   .grad = grad_zeros},
  END_OPS};

#define F6(...) TENSOR(F32, DIMS(6), VALUES(__VA_ARGS__))
#define FLOATS F6(1.9, -1.9, 300.5, -0x1p35, 0x1p35, NAN)
#define LEAST32 -2147483648.0
#define TO(TYPE, ...)                                                                              \
  CASE("CAST", "float32 to " #TYPE, IN(FLOATS), OUT(TENSOR(TYPE, DIMS(6), VALUES(__VA_ARGS__))))
#define OF_300(TYPE, ...)                                                                          \
  CASE("CAST", "int32 to " #TYPE, IN(TENSOR(I32, DIMS(2, 2), VALUES(300, -1, 0, LEAST32))),        \
       OUT(TENSOR(TYPE, DIMS(2, 2), VALUES(__VA_ARGS__))))
#define BACK(TYPE, ...)                                                                            \
  CASE("CAST", #TYPE " to float32", IN(TENSOR(TYPE, DIMS(3), VALUES(__VA_ARGS__))),                \
       OUT(TENSOR(F32, DIMS(3), VALUES(__VA_ARGS__)))),                                            \
  CASE("CAST", #TYPE " to int64", IN(TENSOR(TYPE, DIMS(3), VALUES(__VA_ARGS__))),                  \
       OUT(TENSOR(I64, DIMS(3), VALUES(__VA_ARGS__))))

const OpCase cast_cases[] = {
  TO(I32, 1, -1, 300, LEAST32, 2147483647, 0),
  TO(U32, 1, 0, 300, 0, 4294967295.0, 0),
  TO(I64, 1, -1, 300, -0x1p35, 0x1p35, 0),
  TO(I16, 1, -1, 300, -32768, 32767, 0),
  TO(I8, 1, -1, 127, -128, 127, 0),
  TO(U8, 1, 0, 255, 0, 255, 0),
  TO(BOOL, 1, 1, 1, 1, 1, 1),
  TO(F16, 1.900390625, -1.900390625, 300.5, -INFINITY, INFINITY, NAN),
  CASE("CAST", "beyond int64", IN(F6(1e19, -1e19, INFINITY, -INFINITY, 0, -0.5)),
       OUT(TENSOR(I64, DIMS(6), VALUES(9223372036854775807.0, -9223372036854775808.0,
          9223372036854775807.0, -9223372036854775808.0, 0, 0)))),
  CASE("CAST", "to float16 and subnormal", IN(F6(65519, 65520, 6e-8, 2e-8, -6.103515625e-5, 1e-5)),
       OUT(TENSOR(F16, DIMS(6), VALUES(65504, INFINITY, 5.9604644775390625e-8, 0, -6.103515625e-5,
          1.0013580322265625e-5)))),
  OF_300(F32, 300, -1, 0, LEAST32),
  OF_300(I64, 300, -1, 0, LEAST32),
  OF_300(I16, 300, -1, 0, 0),
  OF_300(I8, 44, -1, 0, 0),
  OF_300(U8, 44, 255, 0, 0),
  OF_300(BOOL, 1, 1, 0, 1),
  OF_300(F16, 300, -1, 0, -INFINITY),
  BACK(I32, 5, -7, 0),
  BACK(U32, 5, 4294967040.0, 0),
  BACK(I16, 5, -7, 0),
  BACK(I8, 5, -7, 0),
  BACK(U8, 5, 200, 0),
  BACK(BOOL, 1, 0, 1),
  BACK(F16, 5, -7, 2048),
  CASE("CAST", "bool of any byte", IN(TENSOR(BOOL, DIMS(3), VALUES(0, 1, 200))),
       OUT(TENSOR(I32, DIMS(3), VALUES(0, 1, 1)))),
  CASE("CAST", "to the same type", IN(RANDOM(2, 3)), OUT(RANDOM(2, 3))),
  CASE("CAST", "a scalar", IN(RANDOM()), OUT(RANDOM())),
  CASE("CAST", "several rows a sample", IN(TENSOR(I32, DIMS(3, 100))), OUT(RANDOM(3, 100))),
  CASE("CAST", "no elements", IN(RANDOM(0, 3)), OUT(TENSOR(I32, DIMS(0, 3)))),
  CASE("ZEROS_LIKE", "float32", IN(F6(1, 2, NAN, INFINITY, 5, 6)), OUT(F6(0, 0, 0, 0, 0, 0))),
  CASE("ZEROS_LIKE", "int64", IN(TENSOR(I64, DIMS(2), VALUES(5, -7))),
       OUT(TENSOR(I64, DIMS(2), VALUES(0, 0)))),
  CASE("ZEROS_LIKE", "bool", IN(TENSOR(BOOL, DIMS(2), VALUES(1, 1))),
       OUT(TENSOR(BOOL, DIMS(2), VALUES(0, 0)))),
  CASE("ZEROS_LIKE", "rank 3", IN(RANDOM(2, 3, 4)), OUT(RANDOM(2, 3, 4))),
  END_CASES};
