// SPDX-License-Identifier: Apache-2.0
// BATCH_MATMUL: y[..,M,N] = a[..,M,K] b[..,K,N], with either operand transposed on demand and the
// dimensions in front of the matrices broadcast. Samples are one more such dimension.
#include "kernels/gemm.h"
#include "ops/op.h"

typedef struct {
  bool transpose_a, transpose_b;
} MatmulAttr;

static Status parse(const FbTable *options, void *attr, int *act, Diag *d)
{
  (void)act;
  (void)d;
  *(MatmulAttr *)attr = (MatmulAttr){fb_bool(*options, 0, false), fb_bool(*options, 1, false)};
  return ST_OK;
}

// ---- shapes ----

static Shape outer_dims(const Shape *s)
{
  Shape outer = *s;
  outer.rank -= 2;
  return outer;
}

// Rows and columns of the matrices of an operand, once transposed.
static int64_t rows_of(const Shape *s, bool transposed)
{
  return s->dim[s->rank - (transposed ? 1 : 2)];
}

static int64_t columns_of(const Shape *s, bool transposed)
{
  return s->dim[s->rank - (transposed ? 2 : 1)];
}

static Status infer(Infer *f)
{
  const MatmulAttr *attr = f->node->attr;
  for (int i = 0; i < 2; ++i) {
    TRY(infer_expect(f, i, DT_F32, -1));
    if (infer_in(f, i)->shape.rank < 2)
      return infer_fail(f, "input %d has shape %s, wanted rank 2 or more", i,
                        shape_text(&infer_in(f, i)->shape).text);
  }
  const Shape *a = &infer_in(f, 0)->shape, *b = &infer_in(f, 1)->shape;
  if (columns_of(a, attr->transpose_a) != rows_of(b, attr->transpose_b))
    return infer_fail(f, "matrices of shapes %s%s and %s%s do not fit: %lld columns, %lld rows",
                      shape_text(a).text, attr->transpose_a ? " transposed" : "",
                      shape_text(b).text, attr->transpose_b ? " transposed" : "",
                      (long long)columns_of(a, attr->transpose_a),
                      (long long)rows_of(b, attr->transpose_b));
  const Shape outer_a = outer_dims(a), outer_b = outer_dims(b);
  Shape out;
  if (!shape_broadcast(&outer_a, &outer_b, &out))
    return infer_fail(f, "shapes %s and %s do not broadcast", shape_text(a).text,
                      shape_text(b).text);
  out.dim[out.rank++] = (int32_t)rows_of(a, attr->transpose_a);
  out.dim[out.rank++] = (int32_t)columns_of(b, attr->transpose_b);
  return infer_out(f, 0, DT_F32, out);
}

// BATCH_MATMUL_GRAD(a, b, x): the product summed over samples and dimensions that x lacks, in the
// shape of x, which it only lends.
static Status infer_grad(Infer *f)
{
  TRY(infer_out(f, 0, DT_F32, infer_in(f, 2)->shape));
  if (!infer_in(f, 2)->batched)
    infer_unbatched(f, 0);
  return ST_OK;
}

// ---- kernels ----

// Steps of one operand along the batch's dimensions, which are the samples and `outer`.
static void set_steps(const Tensor *t, const Shape *outer, int64_t *step)
{
  const Shape own = outer_dims(&t->shape);
  int64_t at = shape_span(&t->shape, own.rank, t->shape.rank);
  for (int i = outer->rank; i-- > 0;) {
    const int k = i - (outer->rank - own.rank);
    step[1 + i] = k < 0 || own.dim[k] == 1 ? 0 : at;
    at *= k < 0 ? 1 : own.dim[k];
  }
  step[0] = t->batched ? at : 0;
}

static void run(const void *args, const Call *c)
{
  gemm_kernels()->run_batch(args, c->p[0], c->p[1], c->p[2], c->accumulate, c->scratch, c->pool);
}

static void run_grad(const void *args, const Call *c)
{
  gemm_kernels()->run_batch(args, c->p[0], c->p[1], c->p[3], c->accumulate, c->scratch, c->pool);
}

static Status bind_product(Bind *b, KernelFn fn)
{
  const MatmulAttr *attr = b->node->attr;
  const Tensor *x = &b->g->tensors[b->node->in[0]], *y = &b->g->tensors[b->node->in[1]];
  const Tensor *z = &b->g->tensors[b->node->out[0]];
  GemmBatch *q = bind_args(b, sizeof *q);
  if (!q)
    return diag_oom(b->diag);
  const Shape outer_x = outer_dims(&x->shape), outer_y = outer_dims(&y->shape);
  Shape outer;
  if (!shape_broadcast(&outer_x, &outer_y, &outer))
    return bind_fail(b, "operands do not broadcast");
  const int64_t m = rows_of(&x->shape, attr->transpose_a);
  const int64_t n = columns_of(&y->shape, attr->transpose_b);
  const int64_t k = columns_of(&x->shape, attr->transpose_a);
  q->one = (GemmShape){.m = m, .n = n, .k = k, .a_row = k, .a_col = 1, .b_row = n, .b_col = 1,
                       .c_row = n};
  if (attr->transpose_a) {
    q->one.a_row = 1;
    q->one.a_col = m;
  }
  if (attr->transpose_b) {
    q->one.b_row = 1;
    q->one.b_col = k;
  }
  _Static_assert(GEMM_BATCH_RANK >= MAX_RANK - 2 + 1, "samples and all but the matrix");
  q->rank = 1 + outer.rank;
  q->dim[0] = x->batched || y->batched ? b->n : 1;
  for (int i = 0; i < outer.rank; ++i)
    q->dim[1 + i] = outer.dim[i];
  set_steps(x, &outer, q->a_step);
  set_steps(y, &outer, q->b_step);
  set_steps(z, &outer, q->c_step);
  gemm_batch_fold(q);
  b->scratch = gemm_kernels()->batch_scratch(q, b->threads);
  b->run = fn;
  return ST_OK;
}

static Status bind(Bind *b)
{
  return bind_product(b, run);
}

static Status bind_grad(Bind *b)
{
  return bind_product(b, run_grad);
}

// ---- gradient ----

static void give(Grad *g, int i, int32_t left, int32_t right, bool transpose_a, bool transpose_b)
{
  const MatmulAttr attr = {transpose_a, transpose_b};
  grad_give(g, i, grad_node(g, "BATCH_MATMUL_GRAD", &attr, 3,
                            (int32_t[]){left, right, grad_of(g)->in[i]}));
}

// da = dy b^T, db = a^T dy; of an operand that was transposed, the transpose of that.
static Status grad(Grad *g)
{
  const Node *n = grad_of(g);
  const MatmulAttr *attr = n->attr;
  const int32_t dy = grad_out(g, 0), a = n->in[0], b = n->in[1];
  if (grad_wants(g, 0)) {
    if (attr->transpose_a)
      give(g, 0, b, dy, attr->transpose_b, true);
    else
      give(g, 0, dy, b, false, !attr->transpose_b);
  }
  if (grad_wants(g, 1)) {
    if (attr->transpose_b)
      give(g, 1, dy, a, true, attr->transpose_a);
    else
      give(g, 1, a, dy, !attr->transpose_a, false);
  }
  return ST_OK;
}

const OpDef batch_matmul_ops[] = {
  {.name = "BATCH_MATMUL", .code = 126, .options = 101, .min_in = 2, .max_in = 2, .n_out = 1,
   .params = 1u << 0 | 1u << 1, .attr_bytes = sizeof(MatmulAttr), .parse = parse, .infer = infer,
   .merge = merge_always, .bind = bind, .grad = grad},
  {.name = "BATCH_MATMUL_GRAD", .code = OP_NOT_IN_FILES, .flags = OP_ACCUMULATES,
   .shape_only = 1u << 2, .attr_bytes = sizeof(MatmulAttr), .infer = infer_grad,
   .merge = merge_always, .bind = bind_grad},
  END_OPS};

#define A TENSOR(F32, DIMS(2, 3), VALUES(1, -2, 3, 0, 4, -1))
#define B TENSOR(F32, DIMS(3, 2), VALUES(2, 1, -1, 3, 0, -2))
#define AT TENSOR(F32, DIMS(3, 2), VALUES(1, 0, -2, 4, 3, -1))
#define BT TENSOR(F32, DIMS(2, 3), VALUES(2, -1, 0, 1, 3, -2))
#define Y TENSOR(F32, DIMS(2, 2), VALUES(4, -11, -4, 14))
#define MATMUL(TRANSPOSE_A, TRANSPOSE_B) ATTR(MatmulAttr, TRANSPOSE_A, TRANSPOSE_B)

const OpCase batch_matmul_cases[] = {
  CASE("BATCH_MATMUL", "two matrices, no options", IN(A, B), OUT(Y)),
  CASE("BATCH_MATMUL", "left transposed", IN(AT, B), OUT(Y), OPTIONS(OPT_BYTE(0, 1))),
  CASE("BATCH_MATMUL", "right transposed", IN(A, BT), OUT(Y), OPTIONS(OPT_BYTE(1, 1))),
  CASE("BATCH_MATMUL", "both transposed", IN(AT, BT), OUT(Y),
       OPTIONS(OPT_BYTE(0, 1), OPT_BYTE(1, 1))),
  CASE("BATCH_MATMUL", "one right matrix for several left ones",
       IN(TENSOR(F32, DIMS(2, 1, 2), VALUES(1, 2, 3, -4)), TENSOR(F32, DIMS(2, 1), VALUES(5, 6))),
       OUT(TENSOR(F32, DIMS(2, 1, 1), VALUES(17, -9)))),
  CASE("BATCH_MATMUL", "one left matrix for several right ones",
       IN(TENSOR(F32, DIMS(1, 2), VALUES(5, 6)), TENSOR(F32, DIMS(2, 2, 1), VALUES(1, 2, 3, -4))),
       OUT(TENSOR(F32, DIMS(2, 1, 1), VALUES(17, -9)))),
  CASE("BATCH_MATMUL", "nothing to sum", IN(RANDOM(2, 2, 0), RANDOM(2, 0, 1)),
       OUT(TENSOR(F32, DIMS(2, 2, 1), VALUES(0, 0, 0, 0))), MATMUL(false, false)),
  CASE("BATCH_MATMUL", "rank 3", IN(RANDOM(2, 3, 4), RANDOM(2, 4, 5)), OUT(RANDOM(2, 3, 5)),
       MATMUL(false, false)),
  CASE("BATCH_MATMUL", "rank 3, left transposed", IN(RANDOM(2, 4, 3), RANDOM(2, 4, 5)),
       OUT(RANDOM(2, 3, 5)), MATMUL(true, false)),
  CASE("BATCH_MATMUL", "rank 3, right transposed", IN(RANDOM(2, 3, 4), RANDOM(2, 5, 4)),
       OUT(RANDOM(2, 3, 5)), MATMUL(false, true)),
  CASE("BATCH_MATMUL", "rank 3, both transposed", IN(RANDOM(2, 4, 3), RANDOM(2, 5, 4)),
       OUT(RANDOM(2, 3, 5)), MATMUL(true, true)),
  CASE("BATCH_MATMUL", "heads", IN(RANDOM(1, 2, 5, 3), RANDOM(1, 2, 3, 4)),
       OUT(RANDOM(1, 2, 5, 4)), MATMUL(false, false)),
  CASE("BATCH_MATMUL", "ranks 2 and 3", IN(RANDOM(3, 4), RANDOM(2, 4, 2)), OUT(RANDOM(2, 3, 2)),
       MATMUL(false, false)),
  CASE("BATCH_MATMUL", "ranks 4 and 2, right transposed", IN(RANDOM(1, 2, 3, 4), RANDOM(2, 4)),
       OUT(RANDOM(1, 2, 3, 2)), MATMUL(false, true)),
  CASE("BATCH_MATMUL", "broadcast both ways", IN(RANDOM(2, 1, 2, 3), RANDOM(1, 3, 3, 2)),
       OUT(RANDOM(2, 3, 2, 2)), MATMUL(false, false)),
  CASE("BATCH_MATMUL", "broadcast both ways, both transposed",
       IN(RANDOM(1, 2, 3, 2), RANDOM(3, 1, 2, 3)), OUT(RANDOM(3, 2, 2, 2)), MATMUL(true, true)),
  CASE("BATCH_MATMUL", "one right matrix in the middle",
       IN(RANDOM(2, 2, 2, 2), RANDOM(2, 1, 2, 2)), OUT(RANDOM(2, 2, 2, 2)), MATMUL(false, false)),
  CASE("BATCH_MATMUL", "rank 8", IN(RANDOM(1, 2, 1, 2, 1, 1, 2, 3), RANDOM(2, 1, 1, 1, 2, 1, 3, 1)),
       OUT(RANDOM(2, 2, 1, 2, 2, 1, 2, 1)), MATMUL(false, false)),
  CASE("BATCH_MATMUL", "no matrices", IN(RANDOM(0, 2, 3), RANDOM(3, 2)), OUT(RANDOM(0, 2, 2)),
       MATMUL(false, false)),
  CASE("BATCH_MATMUL", "refused: columns and rows", IN(RANDOM(1, 2, 3), RANDOM(1, 2, 3)),
       MATMUL(false, false), .refusal = "[1,2,3] and [1,2,3] do not fit: 3 columns, 2 rows"),
  CASE("BATCH_MATMUL", "refused: transposed", IN(RANDOM(2, 3), RANDOM(3, 2)), MATMUL(true, false),
       .refusal = "[2,3] transposed and [3,2] do not fit: 2 columns, 3 rows"),
  CASE("BATCH_MATMUL", "refused: batches", IN(RANDOM(2, 2, 2), RANDOM(3, 2, 2)),
       MATMUL(false, false), .refusal = "[2,2,2] and [3,2,2] do not broadcast"),
  CASE("BATCH_MATMUL", "refused: a vector", IN(RANDOM(3), RANDOM(3, 2)), MATMUL(false, false),
       .refusal = "input 0 has shape [3], wanted rank 2 or more"),
  CASE("BATCH_MATMUL", "refused: int32", IN(RANDOM(2, 3), TENSOR(I32, DIMS(3, 2))),
       MATMUL(false, false), .refusal = "is int32, wanted float32"),
  END_CASES};
