// SPDX-License-Identifier: Apache-2.0
// ONE_HOT: a new axis of `depth` elements, `on` where the index says, else `off`. An index outside
// of it marks nothing.
#include "kernels/pick.h"
#include "ops/attrs.h"
#include "ops/bindings.h"

typedef struct {
  int32_t axis;
} OneHotAttr;

typedef struct {
  int32_t axis, depth;
} MarkAttr;

static Status parse(const FbTable *options, void *attr, int *act, Diag *d)
{
  (void)act;
  (void)d;
  // A file without options means the last axis; one with them says which.
  ((OneHotAttr *)attr)->axis = options->at ? fb_i32(*options, 0, 0) : -1;
  return ST_OK;
}

static Shape marked_shape(const Shape *index, const MarkAttr *m)
{
  Shape y = *index;
  for (int i = y.rank; i > m->axis; --i)
    y.dim[i] = y.dim[i - 1];
  y.dim[m->axis] = m->depth;
  ++y.rank;
  return y;
}

// ONE_HOT(indices, depth, on, off)
static Status read(Infer *f, MarkAttr *m)
{
  const Tensor *index = infer_in(f, 0), *on = infer_in(f, 2), *off = infer_in(f, 3);
  const int32_t axis = ((const OneHotAttr *)f->node->attr)->axis;
  int64_t depth;
  int n = 0, at;
  if (index->dtype != DT_I32 && index->dtype != DT_I64)
    return infer_fail(f, "indices ('%s') are %s, wanted int32 or int64", index->name,
                      dtype_name(index->dtype));
  if (index->shape.rank == MAX_RANK || !shape_axis(axis, index->shape.rank + 1, &at))
    return infer_fail(f, "axis %d is outside rank %d", axis, index->shape.rank + 1);
  TRY(infer_ints(f, 1, &depth, 1, &n));
  if (n != 1 || depth < 0 || depth > INT32_MAX)
    return infer_fail(f, "the depth is %lld", (long long)(n ? depth : -1));
  if (on->dtype != off->dtype || shape_numel(&on->shape) != 1 || shape_numel(&off->shape) != 1)
    return infer_fail(f, "on is %s of shape %s, off %s of shape %s; wanted one element each",
                      dtype_name(on->dtype), shape_text(&on->shape).text, dtype_name(off->dtype),
                      shape_text(&off->shape).text);
  *m = (MarkAttr){at, (int32_t)depth};
  return ST_OK;
}

static Status infer(Infer *f)
{
  MarkAttr m;
  TRY(read(f, &m));
  return infer_out(f, 0, infer_in(f, 2)->dtype, marked_shape(&infer_in(f, 0)->shape, &m));
}

static bool merge(const Graph *g, const Node *n)
{
  return g->tensors[n->in[0]].batched &&
         (n->n_in == 1 || (!g->tensors[n->in[2]].batched && !g->tensors[n->in[3]].batched));
}

typedef struct {
  MarkShape s;
} Args;

static Status bind_mark(Bind *b, const MarkAttr *m, DType type, KernelFn run)
{
  const Tensor *index = &b->g->tensors[b->node->in[0]];
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  a->s = (MarkShape){.outer = shape_span(&index->shape, 0, m->axis) * b->n,
                     .depth = m->depth,
                     .inner = shape_span(&index->shape, m->axis, index->shape.rank),
                     .wide = index->dtype == DT_I64,
                     .element_bytes = (int32_t)dtype_bytes(type)};
  b->run = run;
  return ST_OK;
}

static void run(const void *args, const Call *c)
{
  pick_mark(&((const Args *)args)->s, c->p[0], c->p[2], c->p[3], c->p[4], c->pool);
}

static Status bind(Bind *b)
{
  MarkAttr m;
  Infer f = infer_view(b->g, b->node, b->diag);
  TRY(read(&f, &m));
  return bind_mark(b, &m, bind_type(b, 2), run);
}

// d(on) = sum of dy where the index marks it, d(off) = sum of the rest
static Status grad(Grad *g)
{
  const Node *n = grad_of(g);
  Infer f = infer_view(grad_graph(g), n, NULL);
  MarkAttr m;
  TRY(read(&f, &m));
  const int32_t dy = grad_out(g, 0);
  int32_t mask = grad_node(g, "MARK", &m, 1, &n->in[0]);
  int32_t on = grad_node(g, "MUL", NULL, 2, (int32_t[]){dy, mask});
  int32_t off = grad_node(g, "SUB", NULL, 2, (int32_t[]){dy, on});
  for (int i = 2; i < 4; ++i) {
    if (!grad_wants(g, i))
      continue;
    ReshapeToAttr like = {.shape = grad_tensor(g, n->in[i])->shape};
    int32_t t = grad_node(g, "SUM_TO", &(SumToAttr){.shape = {0}}, 1, i == 2 ? &on : &off);
    if (like.shape.rank > 0)
      t = grad_node(g, "RESHAPE_TO", &like, 1, &t);
    grad_give(g, i, t);
  }
  return ST_OK;
}

// MARK(indices) -> float32, 1 where ONE_HOT is on, else 0
static Status infer_mark(Infer *f)
{
  return infer_out(f, 0, DT_F32, marked_shape(&infer_in(f, 0)->shape, f->node->attr));
}

static void run_mark(const void *args, const Call *c)
{
  static const float one = 1, zero = 0;
  pick_mark(&((const Args *)args)->s, c->p[0], &one, &zero, c->p[1], c->pool);
}

static Status bind_mask(Bind *b)
{
  return bind_mark(b, b->node->attr, DT_F32, run_mark);
}

const OpDef onehot_ops[] = {
  {.name = "ONE_HOT", .code = 85, .options = 61, .min_in = 4, .max_in = 4, .n_out = 1,
   .attr_bytes = sizeof(OneHotAttr), .parse = parse, .infer = infer, .merge = merge, .bind = bind,
   .grad = grad},
  {.name = "MARK", .code = OP_NOT_IN_FILES, .attr_bytes = sizeof(MarkAttr), .infer = infer_mark,
   .merge = merge, .bind = bind_mask},
  END_OPS};

#define DEPTH(n) CONSTANT(I32, DIMS(), VALUES(n))
#define ON TENSOR(F32, DIMS(), VALUES(5))
#define OFF TENSOR(F32, DIMS(1), VALUES(-1))
#define AXIS(n) ATTR(OneHotAttr, n)

const OpCase onehot_cases[] = {
  CASE("ONE_HOT", "last, no options",
       IN(TENSOR(I32, DIMS(2), VALUES(2, 0)), DEPTH(3), ON, OFF),
       OUT(TENSOR(F32, DIMS(2, 3), VALUES(-1, -1, 5, 5, -1, -1)))),
  CASE("ONE_HOT", "options, first, int64",
       IN(TENSOR(I64, DIMS(2), VALUES(1, 0)), DEPTH(2), CONSTANT(I64, DIMS(), VALUES(1)),
          CONSTANT(I64, DIMS(), VALUES(0))),
       OUT(TENSOR(I64, DIMS(2, 2), VALUES(0, 1, 1, 0))), OPTIONS(OPT_INT(0, 0))),
  CASE("ONE_HOT", "outside marks nothing",
       IN(TENSOR(I32, DIMS(3), VALUES(-1, 2, 1)), DEPTH(2), CONSTANT(BOOL, DIMS(), VALUES(1)),
          CONSTANT(BOOL, DIMS(), VALUES(0))),
       OUT(TENSOR(BOOL, DIMS(3, 2), VALUES(0, 0, 0, 0, 0, 1))), AXIS(-1)),
  CASE("ONE_HOT", "a scalar", IN(TENSOR(I32, DIMS(), VALUES(1)), DEPTH(3), ON, OFF),
       OUT(TENSOR(F32, DIMS(3), VALUES(-1, 5, -1))), AXIS(0)),
  CASE("ONE_HOT", "between", IN(TENSOR(I32, DIMS(1, 2, 3), VALUES(0, 1, 2, 3, 3, 0)), DEPTH(4),
          RANDOM(), RANDOM(1, 1)), OUT(RANDOM(1, 2, 4, 3)), AXIS(2)),
  CASE("ONE_HOT", "several rows a sample", IN(TENSOR(I32, DIMS(3), VALUES(0, 1, 1)), DEPTH(2),
          RANDOM(), RANDOM()), OUT(RANDOM(2, 3)), AXIS(0)),
  CASE("ONE_HOT", "depth 0", IN(TENSOR(I32, DIMS(2)), DEPTH(0), ON, OFF), OUT(RANDOM(2, 0)),
       AXIS(-1)),
  CASE("ONE_HOT", "refused: depth", IN(TENSOR(I32, DIMS(2)), DEPTH(-1), ON, OFF), AXIS(-1),
       .refusal = "the depth is -1"),
  CASE("ONE_HOT", "refused: axis", IN(TENSOR(I32, DIMS(2)), DEPTH(2), ON, OFF), AXIS(2),
       .refusal = "axis 2 is outside rank 2"),
  CASE("ONE_HOT", "refused: types", IN(TENSOR(I32, DIMS(2)), DEPTH(2), ON,
          TENSOR(I32, DIMS())), AXIS(0), .refusal = "on is float32 of shape [], off int32"),
  CASE("ONE_HOT", "refused: indices", IN(RANDOM(2), DEPTH(2), ON, OFF), AXIS(0),
       .refusal = "are float32, wanted int32 or int64"),
  END_CASES};
