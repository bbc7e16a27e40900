// SPDX-License-Identifier: Apache-2.0
// TRANSPOSE with a constant permutation: dimension i of the result is dimension perm[i] of x.
#include "kernels/move.h"
#include "ops/attrs.h"
#include "ops/bindings.h"
#include "ops/op.h"

static Status read_perm(Infer *f, PermAttr *p)
{
  const Shape *x = &infer_in(f, 0)->shape;
  int64_t perm[MAX_RANK];
  int n = 0;
  bool seen[MAX_RANK] = {0};
  TRY(infer_ints(f, 1, perm, MAX_RANK, &n));
  if (n != x->rank)
    return infer_fail(f, "the permutation has %d entries, the input has shape %s", n,
                      shape_text(x).text);
  for (int i = 0; i < n; ++i) {
    int axis;
    if (!shape_axis(perm[i], n, &axis) || seen[axis])
      return infer_fail(f, "entry %d of the permutation is %lld: not a permutation of %d axes", i,
                        (long long)perm[i], n);
    seen[axis] = true;
    p->perm[i] = axis;
  }
  return ST_OK;
}

static Status infer_by(Infer *f, const PermAttr *p)
{
  const Tensor *x = infer_in(f, 0);
  Shape out = {.rank = x->shape.rank};
  for (int i = 0; i < out.rank; ++i)
    out.dim[i] = x->shape.dim[p->perm[i]];
  return infer_out(f, 0, x->dtype, out);
}

static Status infer(Infer *f)
{
  PermAttr p;
  TRY(read_perm(f, &p));
  return infer_by(f, &p);
}

static Status infer_transpose_by(Infer *f)
{
  return infer_by(f, f->node->attr);
}

// TRANSPOSE has the permutation as an operand, TRANSPOSE_BY as an attribute.
static Status perm_of(const Graph *g, const Node *n, PermAttr *p, Diag *d)
{
  if (n->n_in == 1) {
    *p = *(const PermAttr *)n->attr;
    return ST_OK;
  }
  Infer f = infer_view(g, n, d);
  return read_perm(&f, p);
}

static bool merge(const Graph *g, const Node *n)
{
  PermAttr p;
  const Tensor *x = &g->tensors[n->in[0]];
  return x->batched && x->shape.rank > 0 && perm_of(g, n, &p, NULL) == ST_OK && p.perm[0] == 0;
}

static void run(const void *args, const Call *c)
{
  move_copy(args, c->p[0], c->p[2], c->pool);
}

static void run_by(const void *args, const Call *c)
{
  if (c->accumulate)
    move_add(args, c->p[0], c->p[1], c->pool);
  else
    move_copy(args, c->p[0], c->p[1], c->pool);
}

static Status bind(Bind *b)
{
  MoveShape *m = bind_args(b, sizeof *m);
  if (!m)
    return diag_oom(b->diag);
  PermAttr p;
  TRY(perm_of(b->g, b->node, &p, b->diag));
  Shape x = bind_in(b, 0), y = bind_out(b, 0);
  int64_t stride[MAX_RANK];
  shape_strides(&x, stride);
  m->rank = y.rank;
  m->element_bytes = (int32_t)dtype_bytes(bind_type(b, 0));
  for (int i = 0; i < y.rank; ++i) {
    m->dim[i] = y.dim[i];
    m->src_stride[i] = stride[p.perm[i]];
  }
  shape_strides(&y, m->dst_stride);
  move_simplify(m);
  b->run = b->node->n_in == 1 ? run_by : run;
  return ST_OK;
}

// dx = dy transposed back
static Status grad(Grad *g)
{
  const Node *n = grad_of(g);
  PermAttr p, inverse = {{0}};
  TRY(perm_of(grad_graph(g), n, &p, NULL));
  for (int i = 0; i < grad_tensor(g, n->in[0])->shape.rank; ++i)
    inverse.perm[p.perm[i]] = i;
  grad_give(g, 0, grad_node(g, "TRANSPOSE_BY", &inverse, 1, (int32_t[]){grad_out(g, 0)}));
  return ST_OK;
}

const OpDef transpose_ops[] = {
  {.name = "TRANSPOSE", .code = 39, .options = 26, .min_in = 2, .max_in = 2, .n_out = 1,
   .infer = infer, .merge = merge, .bind = bind, .grad = grad},
  {.name = "TRANSPOSE_BY", .code = OP_NOT_IN_FILES, .flags = OP_ACCUMULATES,
   .attr_bytes = sizeof(PermAttr), .infer = infer_transpose_by, .merge = merge, .bind = bind},
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
  END_CASES};
