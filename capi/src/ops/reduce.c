// SPDX-License-Identifier: Apache-2.0
// MEAN and SUM over constant axes; SUM_TO, which undoes broadcasting; SPREAD, the gradient of sums.
#include "kernels/rows.h"
#include "ops/attrs.h"
#include "ops/bindings.h"
#include "ops/op.h"

#include <string.h>

typedef struct {
  bool keep_dims;
} ReduceAttr;

typedef struct {
  Shape kept;   // shape of the reduced tensor with its axes kept as 1
  float scale;
} SpreadAttr;

typedef struct {
  ReduceShape s;
  float scale;
} Args;

static Status parse(const FbTable *options, void *attr, int *act, Diag *d)
{
  (void)act;
  (void)d;
  ((ReduceAttr *)attr)->keep_dims = fb_bool(*options, 0, false);
  return ST_OK;
}

// Which axes the constant in input 1 names.
static Status read_axes(const Graph *g, const Node *n, bool *reduce, Diag *d)
{
  Infer f = infer_view(g, n, d);
  int64_t axes[MAX_RANK * 2];
  int count = 0, rank = g->tensors[n->in[0]].shape.rank;
  TRY(infer_ints(&f, 1, axes, MAX_RANK * 2, &count));
  memset(reduce, 0, sizeof *reduce * MAX_RANK);
  for (int i = 0; i < count; ++i) {
    int axis;
    if (!shape_axis(axes[i], rank, &axis))
      return infer_fail(&f, "axis %lld is outside rank %d", (long long)axes[i], rank);
    reduce[axis] = true;
  }
  return ST_OK;
}

static Shape keep_axes(const Shape *x, const bool *reduce)
{
  Shape s = *x;
  for (int i = 0; i < s.rank; ++i)
    if (reduce[i])
      s.dim[i] = 1;
  return s;
}

static Status infer(Infer *f)
{
  bool reduce[MAX_RANK];
  TRY(infer_expect(f, 0, DT_F32, -1));
  TRY(read_axes(f->g, f->node, reduce, f->diag));
  const Shape *x = &infer_in(f, 0)->shape;
  if (((const ReduceAttr *)f->node->attr)->keep_dims)
    return infer_out(f, 0, DT_F32, keep_axes(x, reduce));
  Shape out = {0};
  for (int i = 0; i < x->rank; ++i)
    if (!reduce[i])
      out.dim[out.rank++] = x->dim[i];
  return infer_out(f, 0, DT_F32, out);
}

// Samples run as one where dimension 0 stays: then it is the leading one of the result too.
static bool merge(const Graph *g, const Node *n)
{
  bool reduce[MAX_RANK];
  return merge_outer(g, n) && read_axes(g, n, reduce, NULL) == ST_OK && !reduce[0];
}

// Joins neighbouring axes of one kind.
static ReduceShape alternate(const Shape *x, const bool *reduce)
{
  ReduceShape s = {0};
  for (int i = 0; i < x->rank; ++i) {
    if (x->dim[i] == 1)
      continue;
    if (s.rank && s.reduce[s.rank - 1] == reduce[i]) {
      s.dim[s.rank - 1] *= x->dim[i];
    } else {
      s.dim[s.rank] = x->dim[i];
      s.reduce[s.rank++] = reduce[i];
    }
  }
  return s;
}

static void run_sum(const void *args, const Call *c)
{
  const Args *a = args;
  rows_kernels()->sum(&a->s, a->scale, c->p[0], c->p[1], c->accumulate, c->scratch, c->pool);
}

static void run_sum2(const void *args, const Call *c) // axes are an operand
{
  const Args *a = args;
  rows_kernels()->sum(&a->s, a->scale, c->p[0], c->p[2], c->accumulate, c->scratch, c->pool);
}

static Status bind_sum(Bind *b, const Shape *x, const bool *reduce, float scale, KernelFn run)
{
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  a->s = alternate(x, reduce);
  a->scale = scale;
  b->scratch = rows_kernels()->sum_scratch(&a->s, b->threads);
  b->run = run;
  return ST_OK;
}

static float mean_scale(const Graph *g, const Node *n, const bool *reduce)
{
  const Shape *x = &g->tensors[n->in[0]].shape;
  int64_t count = 1;
  for (int i = 0; i < x->rank; ++i)
    if (reduce[i])
      count *= x->dim[i];
  return strcmp(n->op->name, "MEAN") == 0 ? 1.0f / (float)count : 1;
}

static Status bind(Bind *b)
{
  bool reduce[MAX_RANK];
  TRY(read_axes(b->g, b->node, reduce, b->diag));
  Shape x = bind_in(b, 0);
  return bind_sum(b, &x, reduce, mean_scale(b->g, b->node, reduce), run_sum2);
}

// dx = dy repeated over the reduced axes, divided by their number for MEAN
static Status grad(Grad *g)
{
  const Node *n = grad_of(g);
  bool reduce[MAX_RANK];
  TRY(read_axes(grad_graph(g), n, reduce, NULL));
  SpreadAttr attr = {.kept = keep_axes(&grad_tensor(g, n->in[0])->shape, reduce),
                     .scale = mean_scale(grad_graph(g), n, reduce)};
  grad_give(g, 0, grad_node(g, "SPREAD", &attr, 2, (int32_t[]){grad_out(g, 0), n->in[0]}));
  return ST_OK;
}

// SPREAD(dy, x) -> dx; x lends its shape
static Status infer_spread(Infer *f)
{
  return infer_out(f, 0, DT_F32, infer_in(f, 1)->shape);
}

static bool merge_spread(const Graph *g, const Node *n)
{
  const SpreadAttr *a = n->attr;
  const Shape *x = &g->tensors[n->in[1]].shape;
  return g->tensors[n->in[0]].batched && g->tensors[n->in[1]].batched && x->rank > 0 &&
         a->kept.dim[0] == x->dim[0];
}

static void run_spread(const void *args, const Call *c)
{
  const Args *a = args;
  rows_kernels()->spread(&a->s, a->scale, c->p[0], c->p[2], c->accumulate, c->pool);
}

static Status bind_spread(Bind *b)
{
  const SpreadAttr *attr = b->node->attr;
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  Shape x = bind_in(b, 1);
  const Shape *sample = &b->g->tensors[b->node->in[1]].shape;
  bool reduce[MAX_RANK] = {0};
  for (int i = 0; i < sample->rank; ++i)
    reduce[i] = attr->kept.dim[i] == 1 && sample->dim[i] != 1;
  a->s = alternate(&x, reduce);
  a->scale = attr->scale;
  b->run = run_spread;
  return ST_OK;
}

// ---- SUM_TO ----

static Status infer_sum_to(Infer *f)
{
  const SumToAttr *a = f->node->attr;
  TRY(infer_out(f, 0, DT_F32, a->shape));
  if (a->over_samples)
    infer_unbatched(f, 0);
  return ST_OK;
}

// Axes of x (one sample's) that the target, right-aligned, lacks or has as 1.
static void sum_to_axes(const Shape *x, const Shape *target, bool *reduce)
{
  memset(reduce, 0, sizeof *reduce * MAX_RANK);
  for (int i = 0; i < x->rank; ++i) {
    int k = i - (x->rank - target->rank);
    reduce[i] = k < 0 || (target->dim[k] == 1 && x->dim[i] != 1);
  }
}

// All samples are summed in one call where they are summed, or where dimension 0 stays.
static bool merge_sum_to(const Graph *g, const Node *n)
{
  const SumToAttr *a = n->attr;
  const Tensor *x = &g->tensors[n->in[0]];
  if (!x->batched || x->shape.rank == 0)
    return false;
  bool reduce[MAX_RANK];
  sum_to_axes(&x->shape, &a->shape, reduce);
  if (a->over_samples)
    return reduce[0] || x->shape.dim[0] == 1;
  return !reduce[0] && a->shape.rank == x->shape.rank;
}

static Status bind_sum_to(Bind *b)
{
  const SumToAttr *a = b->node->attr;
  Shape x = bind_in(b, 0);
  const Shape *sample = &b->g->tensors[b->node->in[0]].shape;
  bool reduce[MAX_RANK];
  sum_to_axes(sample, &a->shape, reduce);
  if (a->over_samples && sample->rank > 0 && sample->dim[0] == 1)
    reduce[0] = true;
  return bind_sum(b, &x, reduce, 1, run_sum);
}

#define REDUCE(NAME, number)                                                                       \
  {                                                                                                \
    .name = NAME, .code = number, .options = 27, .min_in = 2, .max_in = 2, .n_out = 1,             \
    .attr_bytes = sizeof(ReduceAttr), .parse = parse, .infer = infer, .merge = merge,              \
    .bind = bind, .grad = grad                                                                     \
  }

const OpDef reduce_ops[] = {
  REDUCE("MEAN", 40), REDUCE("SUM", 74),
  {.name = "SPREAD", .code = OP_NOT_IN_FILES, .flags = OP_ACCUMULATES, .shape_only = 1u << 1,
   .attr_bytes = sizeof(SpreadAttr), .infer = infer_spread, .merge = merge_spread,
   .bind = bind_spread},
  {.name = "SUM_TO", .code = OP_NOT_IN_FILES, .flags = OP_ACCUMULATES,
   .attr_bytes = sizeof(SumToAttr), .infer = infer_sum_to, .merge = merge_sum_to,
   .bind = bind_sum_to},
  END_OPS};

#define X TENSOR(F32, DIMS(2, 3), VALUES(1, 2, 3, 4, 5, 9))
#define KEEP ATTR(ReduceAttr, true)
#define DROP ATTR(ReduceAttr, false)

const OpCase reduce_cases[] = {
  CASE("MEAN", "columns", IN(X, INTS(0)), OUT(TENSOR(F32, DIMS(3), VALUES(2.5, 3.5, 6))), DROP),
  CASE("MEAN", "options", IN(X, INTS(-1)), OUT(TENSOR(F32, DIMS(2, 1), VALUES(2, 6))),
       OPTIONS(OPT_BYTE(0, 1))),
  CASE("MEAN", "a scalar axis, int64", IN(X, CONSTANT(I64, DIMS(), VALUES(1))),
       OUT(TENSOR(F32, DIMS(2), VALUES(2, 6)))),
  CASE("MEAN", "all, named twice", IN(X, INTS(0, 1, -1)), OUT(TENSOR(F32, DIMS(), VALUES(4))),
       DROP),
  CASE("MEAN", "height and width", IN(RANDOM(1, 3, 4, 5), INTS(1, 2)), OUT(RANDOM(1, 5)), DROP),
  CASE("MEAN", "height and width, kept", IN(RANDOM(2, 3, 2, 3), INTS(2, 1)),
       OUT(RANDOM(2, 1, 1, 3)), KEEP),
  CASE("MEAN", "alternating axes of rank 5", IN(RANDOM(2, 3, 2, 3, 2), INTS(1, -2)),
       OUT(RANDOM(2, 2, 2)), DROP),
  CASE("MEAN", "with the batch", IN(RANDOM(1, 3, 4), INTS(0, 2)), OUT(RANDOM(3)), DROP),
  CASE("MEAN", "channels", IN(RANDOM(1, 2, 2, 6), INTS(3)), OUT(RANDOM(1, 2, 2)), DROP),
  CASE("MEAN", "of no axis", IN(RANDOM(2, 3), CONSTANT(I32, DIMS(0))), OUT(RANDOM(2, 3)), DROP),
  CASE("MEAN", "of a vector", IN(RANDOM(5), INTS(0)), OUT(RANDOM()), DROP),
  CASE("MEAN", "refused: axis", IN(X, INTS(2)), DROP, .refusal = "axis 2 is outside rank 2"),
  CASE("MEAN", "refused: int32", IN(TENSOR(I32, DIMS(2)), INTS(0)), DROP,
       .refusal = "is int32, wanted float32"),
  CASE("MEAN", "refused: axes that depend on the data", IN(X, TENSOR(I32, DIMS(1))), DROP,
       .refusal = "must be constant"),
  CASE("MEAN", "refused: float axes", IN(X, CONSTANT(F32, DIMS(1))), DROP,
       .refusal = "is float32, wanted int32 or int64"),
  CASE("SUM", "rows", IN(X, INTS(1)), OUT(TENSOR(F32, DIMS(2), VALUES(6, 18))), DROP),
  CASE("SUM", "all, kept", IN(X, INTS(0, 1)), OUT(TENSOR(F32, DIMS(1, 1), VALUES(24))), KEEP),
  CASE("SUM", "of nothing", IN(RANDOM(2, 0), INTS(1)), OUT(TENSOR(F32, DIMS(2), VALUES(0, 0))),
       DROP),
  CASE("SUM", "rank 8", IN(RANDOM(1, 2, 1, 2, 3, 1, 2, 2), INTS(1, 4, 7)),
       OUT(RANDOM(1, 1, 2, 1, 2)), DROP),
  CASE("SUM", "long rows", IN(RANDOM(1, 3, 100), INTS(-1)), OUT(RANDOM(1, 3)), DROP),
  CASE("SUM", "refused: axis", IN(X, INTS(-3)), DROP, .refusal = "axis -3 is outside rank 2"),
  CASE("SUM_TO", "a row", IN(X), OUT(TENSOR(F32, DIMS(3), VALUES(5, 7, 12))),
       ATTR(SumToAttr, .shape = {.rank = 1, .dim = {3}})),
  CASE("SUM_TO", "a column", IN(X), OUT(TENSOR(F32, DIMS(2, 1), VALUES(6, 18))),
       ATTR(SumToAttr, .shape = {.rank = 2, .dim = {2, 1}})),
  END_CASES};
