// SPDX-License-Identifier: Apache-2.0
// ROPE(x, sin, cos): rotary position embedding over the last axis. The tables broadcast to x.
#include "kernels/rotate.h"
#include "ops/op.h"

typedef struct {
  bool is_interleaved; // mode 1 (GPT-J): pairs of neighbours; else (GPT-NeoX) the two halves
} RopeAttr;

static Status parse(const FbTable *options, void *attr, int *act, Diag *d)
{
  (void)act;
  const int8_t mode = fb_i8(*options, 0, 0);
  if (mode != 0 && mode != 1)
    return diag_fail(d, ST_ERROR, "mode is %d, wanted 0 (halves) or 1 (neighbours)", mode);
  ((RopeAttr *)attr)->is_interleaved = mode == 1;
  return ST_OK;
}

static Status infer(Infer *f)
{
  for (int i = 0; i < 3; ++i)
    TRY(infer_expect(f, i, DT_F32, -1));
  const Shape *x = &infer_in(f, 0)->shape;
  const int32_t width = x->rank ? x->dim[x->rank - 1] : 1;
  if (width % 2)
    return infer_fail(f, "input of shape %s: the last dimension is %d, wanted an even one",
                      shape_text(x).text, width);
  for (int i = 1; i < 3; ++i) {
    const Shape *table = &infer_in(f, i)->shape;
    Shape out;
    if (table->rank == 0 || table->dim[table->rank - 1] != width ||
        !shape_broadcast(x, table, &out) || !shape_equal(x, &out))
      return infer_fail(f, "table %d of shape %s does not broadcast to input %s", i,
                        shape_text(table).text, shape_text(x).text);
  }
  return infer_out(f, 0, DT_F32, *x);
}

// ROPE_GRAD(dy, sin, cos) -> dx and ROPE_RIGHT_ANGLE(x)
static Status infer_same(Infer *f)
{
  return infer_out(f, 0, DT_F32, infer_in(f, 0)->shape);
}

// Tables broadcast, x does not. In rank 1 dimension 0 is the row itself.
static bool merge(const Graph *g, const Node *n)
{
  const Tensor *x = &g->tensors[n->in[0]];
  return x->batched && x->shape.rank > 1 && merge_elementwise(g, n);
}

static void table_strides(const Shape *table, const Shape *x, int64_t *stride)
{
  int64_t dense[MAX_RANK];
  shape_strides(table, dense);
  for (int i = 0; i < x->rank - 1; ++i) {
    const int k = i - (x->rank - table->rank);
    stride[i] = k < 0 || table->dim[k] == 1 ? 0 : dense[k];
  }
}

static void run(const void *args, const Call *c)
{
  rotate(args, c->p[0], c->p[1], c->p[2], c->p[3], c->pool);
}

static void run_grad(const void *args, const Call *c)
{
  rotate_grad(args, c->p[0], c->p[1], c->p[2], c->p[3], c->accumulate, c->pool);
}

static void run_right_angle(const void *args, const Call *c)
{
  rotate_right_angle(args, c->p[0], c->p[1], c->pool);
}

static Status bind_rotation(Bind *b, KernelFn fn)
{
  RotateShape *s = bind_args(b, sizeof *s);
  if (!s)
    return diag_oom(b->diag);
  const Shape x = bind_out(b, 0);
  s->width = x.dim[x.rank - 1];
  s->is_interleaved = ((const RopeAttr *)b->node->attr)->is_interleaved;
  s->rank = x.rank - 1;
  for (int i = 0; i < s->rank; ++i)
    s->dim[i] = x.dim[i];
  if (b->node->n_in > 1) {
    const Shape sin = bind_in(b, 1), cos = bind_in(b, 2);
    table_strides(&sin, &x, s->sin_stride);
    table_strides(&cos, &x, s->cos_stride);
  }
  b->run = fn;
  return ST_OK;
}

static Status bind(Bind *b)
{
  return bind_rotation(b, run);
}

static Status bind_grad(Bind *b)
{
  return bind_rotation(b, run_grad);
}

static Status bind_right_angle(Bind *b)
{
  return bind_rotation(b, run_right_angle);
}

// dx: the opposite rotation. y = x cos + right angle(x) sin, hence what the tables get.
static Status grad(Grad *g)
{
  const Node *n = grad_of(g);
  const int32_t dy = grad_out(g, 0), x = n->in[0];
  if (grad_wants(g, 0))
    grad_give(g, 0, grad_node(g, "ROPE_GRAD", n->attr, 3, (int32_t[]){dy, n->in[1], n->in[2]}));
  if (grad_wants(g, 1)) {
    const int32_t turned = grad_node(g, "ROPE_RIGHT_ANGLE", n->attr, 1, &x);
    grad_give_reduced(g, 1, grad_node(g, "MUL", NULL, 2, (int32_t[]){dy, turned}));
  }
  if (grad_wants(g, 2))
    grad_give_reduced(g, 2, grad_node(g, "MUL", NULL, 2, (int32_t[]){dy, x}));
  return ST_OK;
}

const OpDef rope_ops[] = {
  {.name = "ROPE", .code = -7, .options = 249, .min_in = 3, .max_in = 3, .n_out = 1,
   .attr_bytes = sizeof(RopeAttr), .parse = parse, .infer = infer, .merge = merge, .bind = bind,
   .grad = grad},
  {.name = "ROPE_GRAD", .code = OP_NOT_IN_FILES, .flags = OP_ACCUMULATES,
   .attr_bytes = sizeof(RopeAttr), .infer = infer_same, .merge = merge, .bind = bind_grad},
  {.name = "ROPE_RIGHT_ANGLE", .code = OP_NOT_IN_FILES, .attr_bytes = sizeof(RopeAttr),
   .infer = infer_same, .merge = merge, .bind = bind_right_angle},
  END_OPS};

#define X TENSOR(F32, DIMS(1, 4), VALUES(1, 2, 3, -4))
#define SIN TENSOR(F32, DIMS(4), VALUES(0.5, -1, 2, 3))
#define COS TENSOR(F32, DIMS(4), VALUES(2, 1, -1, 0.5))
#define HALVES ATTR(RopeAttr, false)
#define NEIGHBOURS ATTR(RopeAttr, true)

const OpCase rope_cases[] = {
  CASE("ROPE", "halves", IN(X, SIN, COS),
       OUT(TENSOR(F32, DIMS(1, 4), VALUES(0.5, -2, -1, 4)))),
  CASE("ROPE", "neighbours", IN(X, SIN, COS),
       OUT(TENSOR(F32, DIMS(1, 4), VALUES(1, 1, 5, 7))), OPTIONS(OPT_BYTE(0, 1))),
  CASE("ROPE", "heads share a table",
       IN(RANDOM(1, 2, 3, 4), RANDOM(1, 1, 3, 4), RANDOM(3, 4)), OUT(RANDOM(1, 2, 3, 4)), HALVES),
  CASE("ROPE", "heads in the middle", IN(RANDOM(1, 3, 2, 6), RANDOM(1, 3, 1, 6), RANDOM(3, 1, 6)),
       OUT(RANDOM(1, 3, 2, 6)), NEIGHBOURS),
  CASE("ROPE", "several rows a sample", IN(RANDOM(2, 3, 2), RANDOM(2, 3, 2), RANDOM(2, 1, 2)),
       OUT(RANDOM(2, 3, 2)), HALVES),
  CASE("ROPE", "a vector", IN(RANDOM(6), RANDOM(6), RANDOM(6)), OUT(RANDOM(6)), NEIGHBOURS),
  CASE("ROPE", "no elements", IN(RANDOM(2, 0), RANDOM(0), RANDOM(1, 0)), OUT(RANDOM(2, 0)), HALVES),
  CASE("ROPE", "refused: odd", IN(RANDOM(1, 3), RANDOM(3), RANDOM(3)), HALVES,
       .refusal = "[1,3]: the last dimension is 3"),
  CASE("ROPE", "refused: a scalar", IN(RANDOM(), RANDOM(2), RANDOM(2)), HALVES,
       .refusal = "the last dimension is 1"),
  CASE("ROPE", "refused: table", IN(RANDOM(2, 4), RANDOM(3, 4), RANDOM(4)), HALVES,
       .refusal = "table 1 of shape [3,4] does not broadcast to input [2,4]"),
  CASE("ROPE", "refused: a larger table", IN(RANDOM(2, 4), RANDOM(4), RANDOM(3, 2, 4)), HALVES,
       .refusal = "table 2 of shape [3,2,4]"),
  CASE("ROPE", "refused: one angle", IN(RANDOM(2, 4), RANDOM(1), RANDOM(4)), HALVES,
       .refusal = "table 1 of shape [1]"),
  CASE("ROPE", "refused: mode", IN(X, SIN, COS), OPTIONS(OPT_BYTE(0, 2)), .refusal = "mode is 2"),
  CASE("ROPE", "refused: int32", IN(TENSOR(I32, DIMS(4)), SIN, COS), HALVES,
       .refusal = "is int32, wanted float32"),
  END_CASES};
