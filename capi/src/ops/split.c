// SPDX-License-Identifier: Apache-2.0
// SPLIT and SPLIT_V, which cut a tensor along an axis, and UNPACK, which drops the axis, of any
// element type. The gradient joins those of the parts; a part that nothing depends on has zeros.
#include "ops/attrs.h"
#include "ops/bindings.h"
#include "ops/boxes.h"

typedef struct {
  int32_t count; // how many outputs the file says it has; 0: nothing
  int32_t axis;  // UNPACK
} SplitAttr;

// Where an operator has its operands; -1: it has none of that kind.
typedef struct {
  int x, axis, sizes;
} Operands;

static Operands operands(const Node *n)
{
  if (n->op == op_by_name("SPLIT"))
    return (Operands){.x = 1, .axis = 0, .sizes = -1};
  if (n->op == op_by_name("SPLIT_V"))
    return (Operands){.x = 0, .axis = 2, .sizes = 1};
  return (Operands){.x = 0, .axis = -1, .sizes = -1};
}

static Status parse(const FbTable *options, void *attr, int *act, Diag *d)
{
  (void)act;
  (void)d;
  ((SplitAttr *)attr)->count = fb_i32(*options, 0, 0);
  return ST_OK;
}

static Status parse_unpack(const FbTable *options, void *attr, int *act, Diag *d)
{
  ((SplitAttr *)attr)->axis = fb_i32(*options, 1, 0);
  return parse(options, attr, act, d);
}

static Status read_axis(Infer *f, int *axis)
{
  const Operands o = operands(f->node);
  const Shape *x = &infer_in(f, o.x)->shape;
  int64_t value = ((const SplitAttr *)f->node->attr)->axis;
  int n = 1;
  if (o.axis >= 0)
    TRY(infer_ints(f, o.axis, &value, 1, &n));
  if (n != 1)
    return infer_fail(f, "the axis has %d values, wanted 1", n);
  if (!shape_axis(value, x->rank, axis))
    return infer_fail(f, "axis %lld is outside rank %d", (long long)value, x->rank);
  return ST_OK;
}

// Extents of the parts from SPLIT_V's operand; one may be -1, the rest.
static Status read_sizes(Infer *f, int operand, int32_t dim, int32_t *extent)
{
  int64_t size[OP_MAX_OPERANDS], total = 0;
  int n = 0, rest = -1;
  TRY(infer_ints(f, operand, size, OP_MAX_OPERANDS, &n));
  if (n != f->node->n_out)
    return infer_fail(f, "%d sizes for %d outputs", n, f->node->n_out);
  for (int i = 0; i < n; ++i) {
    if (size[i] < -1 || size[i] > dim || (size[i] == -1 && rest >= 0))
      return infer_fail(f, "size %lld of part %d does not fit a dimension of %d",
                        (long long)size[i], i, dim);
    if (size[i] == -1)
      rest = i;
    else
      total += size[i];
  }
  if (total > dim || (rest < 0 && total != dim))
    return infer_fail(f, "the sizes add up to %lld, the dimension is %d", (long long)total, dim);
  for (int i = 0; i < n; ++i)
    extent[i] = (int32_t)(i == rest ? dim - total : size[i]);
  return ST_OK;
}

static Status infer(Infer *f)
{
  const Operands o = operands(f->node);
  const Tensor *x = infer_in(f, o.x);
  const int32_t n = f->node->n_out, count = ((const SplitAttr *)f->node->attr)->count;
  int32_t extent[OP_MAX_OPERANDS];
  int axis;
  if (count && count != n)
    return infer_fail(f, "the option says %d outputs, there are %d", count, n);
  TRY(read_axis(f, &axis));
  const int32_t dim = x->shape.dim[axis];
  const bool drops = o.axis < 0;
  if (o.sizes >= 0)
    TRY(read_sizes(f, o.sizes, dim, extent));
  else if (drops ? dim != n : dim % n != 0)
    return infer_fail(f, "dimension %d of shape %s does not make %d outputs", axis,
                      shape_text(&x->shape).text, n);
  Shape out = x->shape;
  if (drops) {
    for (int k = axis; k + 1 < out.rank; ++k)
      out.dim[k] = out.dim[k + 1];
    --out.rank;
  }
  for (int i = 0; i < n; ++i) {
    if (!drops)
      out.dim[axis] = o.sizes >= 0 ? extent[i] : dim / n;
    TRY(infer_out(f, i, infer_in(f, o.x)->dtype, out));
  }
  return ST_OK;
}

static int axis_of(const Graph *g, const Node *n)
{
  int axis = 0;
  Infer f = infer_view(g, n, NULL);
  return read_axis(&f, &axis) == ST_OK ? axis : 0;
}

static void extents(const Graph *g, const Node *n, int axis, int32_t *extent)
{
  for (int i = 0; i < n->n_out; ++i)
    extent[i] = operands(n).axis < 0 ? 1 : g->tensors[n->out[i]].shape.dim[axis];
}

static bool merge(const Graph *g, const Node *n)
{
  return g->tensors[n->in[operands(n).x]].batched && axis_of(g, n) != 0;
}

typedef struct {
  int32_t n;
  Piece *piece;
  int32_t x, out; // first output
} Args;

static void run(const void *args, const Call *c)
{
  const Args *a = args;
  for (int32_t i = 0; i < a->n; ++i)
    piece_run(&a->piece[i], c->p[a->x], c->p[a->out + i], false, c->pool);
}

static Status bind(Bind *b)
{
  const Node *n = b->node;
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  int32_t extent[OP_MAX_OPERANDS];
  int axis = axis_of(b->g, n);
  extents(b->g, n, axis, extent);
  a->x = operands(n).x;
  a->out = n->n_in;
  Shape whole = bind_in(b, a->x);
  a->n = n->n_out;
  b->run = run;
  return parts_bind(b, &whole, axis, extent, a->n, true, bind_type(b, a->x), &a->piece);
}

static Status grad(Grad *g)
{
  const Node *n = grad_of(g);
  const int x = operands(n).x;
  int32_t part[OP_MAX_OPERANDS];
  int32_t *extent = arena_array(grad_graph(g)->arena, (size_t)n->n_out, sizeof *extent);
  if (!extent)
    return grad_fail(g, "out of memory");
  JoinAttr attr = {.whole = grad_tensor(g, n->in[x])->shape, .axis = axis_of(grad_graph(g), n),
                   .extent = extent};
  extents(grad_graph(g), n, attr.axis, extent);
  for (int i = 0; i < n->n_out; ++i)
    part[i] = grad_out(g, i);
  grad_give(g, x, grad_node(g, "JOIN", &attr, n->n_out, part));
  return ST_OK;
}

#define SPLIT(NAME, number, tag, inputs, read)                                                     \
  {                                                                                                \
    .name = NAME, .code = number, .options = tag, .min_in = inputs, .max_in = inputs,              \
    .attr_bytes = sizeof(SplitAttr), .parse = read, .infer = infer, .merge = merge, .bind = bind,  \
    .grad = grad                                                                                   \
  }

const OpDef split_ops[] = {SPLIT("SPLIT", 49, 35, 2, parse), SPLIT("SPLIT_V", 102, 79, 3, parse),
                           SPLIT("UNPACK", 88, 64, 1, parse_unpack), END_OPS};

#define X TENSOR(F32, DIMS(2, 4), VALUES(1, 2, 3, 4, 5, 6, 7, 8))

const OpCase split_cases[] = {
  CASE("SPLIT", "columns, options", IN(INTS(1), X),
       OUT(TENSOR(F32, DIMS(2, 2), VALUES(1, 2, 5, 6)), TENSOR(F32, DIMS(2, 2), VALUES(3, 4, 7,
          8))), OPTIONS(OPT_INT(0, 2))),
  CASE("SPLIT", "rows, a negative axis, int64",
       IN(CONSTANT(I64, DIMS(), VALUES(-2)), TENSOR(I64, DIMS(2, 2), VALUES(1, -2, 3, 4))),
       OUT(TENSOR(I64, DIMS(1, 2), VALUES(1, -2)), TENSOR(I64, DIMS(1, 2), VALUES(3, 4))),
       ATTR(SplitAttr, .count = 2)),
  CASE("SPLIT", "bytes", IN(INTS(0), TENSOR(U8, DIMS(4), VALUES(1, 2, 3, 200))),
       OUT(TENSOR(U8, DIMS(2), VALUES(1, 2)), TENSOR(U8, DIMS(2), VALUES(3, 200)))),
  CASE("SPLIT", "truth", IN(INTS(0), TENSOR(BOOL, DIMS(2), VALUES(1, 0))),
       OUT(TENSOR(BOOL, DIMS(1), VALUES(1)), TENSOR(BOOL, DIMS(1), VALUES(0)))),
  CASE("SPLIT", "gates of a cell", IN(CONSTANT(I32, DIMS(), VALUES(-1)), RANDOM(1, 12)),
       OUT(RANDOM(1, 3), RANDOM(1, 3), RANDOM(1, 3), RANDOM(1, 3))),
  CASE("SPLIT", "heads", IN(INTS(2), RANDOM(1, 3, 4, 2)),
       OUT(RANDOM(1, 3, 2, 2), RANDOM(1, 3, 2, 2))),
  CASE("SPLIT", "several rows a sample", IN(INTS(0), RANDOM(4, 3)),
       OUT(RANDOM(2, 3), RANDOM(2, 3))),
  CASE("SPLIT", "rank 8", IN(INTS(-2), RANDOM(1, 2, 1, 2, 1, 2, 4, 2)),
       OUT(RANDOM(1, 2, 1, 2, 1, 2, 2, 2), RANDOM(1, 2, 1, 2, 1, 2, 2, 2))),
  CASE("SPLIT", "into one", IN(INTS(0), RANDOM(1, 3)), OUT(RANDOM(1, 3))),
  CASE("SPLIT", "nothing", IN(INTS(1), RANDOM(2, 0)), OUT(RANDOM(2, 0), RANDOM(2, 0))),
  CASE("SPLIT", "refused: remainder", IN(INTS(1), X), OUT(X, X, X),
       .refusal = "dimension 1 of shape [2,4] does not make 3 outputs"),
  CASE("SPLIT", "refused: axis", IN(INTS(2), X), OUT(X, X), .refusal = "axis 2 is outside rank 2"),
  CASE("SPLIT", "refused: two axes", IN(INTS(0, 1), X), OUT(X, X), .refusal = "has shape [2]"),
  CASE("SPLIT", "refused: no axis", IN(CONSTANT(I32, DIMS(0)), X), OUT(X, X),
       .refusal = "the axis has 0 values"),
  CASE("SPLIT", "refused: axis of the data", IN(TENSOR(I32, DIMS(1)), X), OUT(X, X),
       .refusal = "must be constant"),
  CASE("SPLIT", "refused: count", IN(INTS(1), X), OUT(X, X), ATTR(SplitAttr, .count = 4),
       .refusal = "the option says 4 outputs, there are 2"),
  CASE("SPLIT_V", "columns", IN(X, INTS(1, 3), INTS(1)),
       OUT(TENSOR(F32, DIMS(2, 1), VALUES(1, 5)), TENSOR(F32, DIMS(2, 3), VALUES(2, 3, 4, 6, 7,
          8)))),
  CASE("SPLIT_V", "the rest, a negative axis, options",
       IN(X, CONSTANT(I64, DIMS(3), VALUES(1, -1, 1)), CONSTANT(I32, DIMS(), VALUES(-1))),
       OUT(TENSOR(F32, DIMS(2, 1), VALUES(1, 5)), TENSOR(F32, DIMS(2, 2), VALUES(2, 3, 6, 7)),
           TENSOR(F32, DIMS(2, 1), VALUES(4, 8))),
       OPTIONS(OPT_INT(0, 3))),
  CASE("SPLIT_V", "int16, the rest is nothing",
       IN(TENSOR(I16, DIMS(2), VALUES(-300, 300)), INTS(2, -1), INTS(0)),
       OUT(TENSOR(I16, DIMS(2), VALUES(-300, 300)), TENSOR(I16, DIMS(0)))),
  CASE("SPLIT_V", "time steps", IN(RANDOM(1, 5, 2), INTS(2, 3), INTS(1)),
       OUT(RANDOM(1, 2, 2), RANDOM(1, 3, 2))),
  CASE("SPLIT_V", "rows of a sample", IN(RANDOM(3, 2), INTS(1, 2), INTS(0)),
       OUT(RANDOM(1, 2), RANDOM(2, 2))),
  CASE("SPLIT_V", "refused: sum", IN(X, INTS(1, 2), INTS(1)), OUT(X, X),
       .refusal = "the sizes add up to 3, the dimension is 4"),
  CASE("SPLIT_V", "refused: too much before the rest", IN(X, INTS(3, -1, 2), INTS(1)),
       OUT(X, X, X), .refusal = "the sizes add up to 5, the dimension is 4"),
  CASE("SPLIT_V", "refused: two rests", IN(X, INTS(-1, -1), INTS(1)), OUT(X, X),
       .refusal = "size -1 of part 1 does not fit a dimension of 4"),
  CASE("SPLIT_V", "refused: negative", IN(X, INTS(6, -2), INTS(1)), OUT(X, X),
       .refusal = "size 6 of part 0"),
  CASE("SPLIT_V", "refused: count", IN(X, INTS(1, 3), INTS(1)), OUT(X, X, X),
       .refusal = "2 sizes for 3 outputs"),
  CASE("UNPACK", "rows", IN(X),
       OUT(TENSOR(F32, DIMS(4), VALUES(1, 2, 3, 4)), TENSOR(F32, DIMS(4), VALUES(5, 6, 7, 8)))),
  CASE("UNPACK", "columns, options", IN(TENSOR(I32, DIMS(2, 2), VALUES(1, 2, 3, -4))),
       OUT(TENSOR(I32, DIMS(2), VALUES(1, 3)), TENSOR(I32, DIMS(2), VALUES(2, -4))),
       OPTIONS(OPT_INT(0, 2), OPT_INT(1, -1))),
  CASE("UNPACK", "a vector", IN(TENSOR(I8, DIMS(2), VALUES(-1, 5))),
       OUT(TENSOR(I8, DIMS(), VALUES(-1)), TENSOR(I8, DIMS(), VALUES(5)))),
  CASE("UNPACK", "time steps", IN(RANDOM(1, 3, 4)), OUT(RANDOM(1, 4), RANDOM(1, 4), RANDOM(1, 4)),
       ATTR(SplitAttr, .axis = 1)),
  CASE("UNPACK", "a vector of a sample", IN(RANDOM(3)), OUT(RANDOM(), RANDOM(), RANDOM())),
  CASE("UNPACK", "channels", IN(RANDOM(1, 2, 2, 2)), OUT(RANDOM(1, 2, 2), RANDOM(1, 2, 2)),
       ATTR(SplitAttr, .axis = -1)),
  CASE("UNPACK", "several rows a sample", IN(RANDOM(3, 2)), OUT(RANDOM(3), RANDOM(3)),
       ATTR(SplitAttr, .axis = 1)),
  CASE("UNPACK", "refused: count", IN(X), OUT(X, X, X), ATTR(SplitAttr, .axis = 0),
       .refusal = "dimension 0 of shape [2,4] does not make 3 outputs"),
  CASE("UNPACK", "refused: axis", IN(X), OUT(X, X), ATTR(SplitAttr, .axis = -3),
       .refusal = "axis -3 is outside rank 2"),
  CASE("UNPACK", "refused: a scalar", IN(RANDOM()), OUT(X), .refusal = "axis 0 is outside rank 0"),
  END_CASES};
