// SPDX-License-Identifier: Apache-2.0
// SLICE and STRIDED_SLICE with constant bounds, of any element type.
#include "ops/boxes.h"

typedef struct {
  int32_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_mask;
  bool offset; // end counts from begin
} StridedAttr;

typedef struct {
  MoveShape move;
  int64_t offset;
  int32_t bytes;
} Args;

static Status parse_strided(const FbTable *options, void *attr, int *act, Diag *d)
{
  (void)act;
  (void)d;
  StridedAttr *a = attr;
  a->begin_mask = fb_i32(*options, 0, 0);
  a->end_mask = fb_i32(*options, 1, 0);
  a->ellipsis_mask = fb_i32(*options, 2, 0);
  a->new_axis_mask = fb_i32(*options, 3, 0);
  a->shrink_mask = fb_i32(*options, 4, 0);
  a->offset = fb_bool(*options, 5, false);
  return ST_OK;
}

static Status slice_box(Infer *f, Box *box, Shape *inner)
{
  const Shape *x = &infer_in(f, 0)->shape;
  int64_t begin[MAX_RANK], size[MAX_RANK];
  int nb = 0, ns = 0;
  TRY(infer_ints(f, 1, begin, MAX_RANK, &nb));
  TRY(infer_ints(f, 2, size, MAX_RANK, &ns));
  if (nb != x->rank || ns != x->rank)
    return infer_fail(f, "%d begins and %d sizes for an input of shape %s", nb, ns,
                      shape_text(x).text);
  *box = box_whole(x);
  *inner = *x;
  for (int i = 0; i < x->rank; ++i) {
    int64_t n = size[i] == -1 ? x->dim[i] - begin[i] : size[i];
    if (begin[i] < 0 || n < 0 || begin[i] > x->dim[i] || n > x->dim[i] - begin[i])
      return infer_fail(f, "begin %lld and size %lld leave dimension %d of shape %s",
                        (long long)begin[i], (long long)size[i], i, shape_text(x).text);
    box->begin[i] = (int32_t)begin[i];
    box->count[i] = inner->dim[i] = (int32_t)n;
  }
  return ST_OK;
}

// One axis of STRIDED_SLICE: the rules of Python slices, with masks for open ends.
static void strided_axis(int32_t dim, int64_t begin, int64_t end, int64_t stride, bool open_begin,
                         bool open_end, bool from_begin, int32_t *first, int32_t *count)
{
  int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? dim : dim - 1;
  if (begin < 0)
    begin += dim;
  if (from_begin)
    end += begin;
  else if (end < 0)
    end += dim;
  begin = open_begin ? (stride > 0 ? low : high) : begin < low ? low : begin > high ? high : begin;
  end = open_end ? (stride > 0 ? high : low) : end < low ? low : end > high ? high : end;
  int64_t span = stride > 0 ? end - begin : begin - end, step = stride > 0 ? stride : -stride;
  *count = span > 0 ? (int32_t)((span + step - 1) / step) : 0;
  *first = (int32_t)(*count ? begin : 0);
}

static Status strided_box(Infer *f, Box *box, Shape *inner)
{
  const StridedAttr *a = f->node->attr;
  const Shape *x = &infer_in(f, 0)->shape;
  int64_t begin[MAX_RANK * 2], end[MAX_RANK * 2], stride[MAX_RANK * 2];
  int n = 0, ne = 0, ns = 0;
  TRY(infer_ints(f, 1, begin, MAX_RANK * 2, &n));
  TRY(infer_ints(f, 2, end, MAX_RANK * 2, &ne));
  TRY(infer_ints(f, 3, stride, MAX_RANK * 2, &ns));
  if (n != ne || n != ns)
    return infer_fail(f, "%d begins, %d ends and %d strides", n, ne, ns);
  int new_axes = 0;
  bool ellipsis = false;
  for (int i = 0; i < n; ++i) {
    bool dots = a->ellipsis_mask >> i & 1;
    if (dots && ellipsis)
      return infer_fail(f, "there is more than one ellipsis");
    ellipsis = ellipsis || dots;
    new_axes += !dots && (a->new_axis_mask >> i & 1);
  }
  int named = n - new_axes - ellipsis;
  if (named > x->rank)
    return infer_fail(f, "%d indices for an input of shape %s", named, shape_text(x).text);
  *box = box_whole(x);
  *inner = (Shape){0};
  int axis = 0;
  for (int i = 0; i < n || axis < x->rank; ++i) {
    bool dots = i < n && (a->ellipsis_mask >> i & 1);
    int whole = dots ? x->rank - named : i >= n ? 1 : 0;
    if (inner->rank + (whole ? whole : 1) > MAX_RANK)
      return infer_fail(f, "the result would have more than %d dimensions", MAX_RANK);
    for (int k = 0; k < whole; ++k)
      inner->dim[inner->rank++] = x->dim[axis++];
    if (dots || i >= n)
      continue;
    if (a->new_axis_mask >> i & 1) {
      inner->dim[inner->rank++] = 1;
      continue;
    }
    bool shrink = a->shrink_mask >> i & 1;
    if (stride[i] == 0 || stride[i] > INT32_MAX || stride[i] < -INT32_MAX ||
        (shrink && stride[i] < 0))
      return infer_fail(f, "stride %lld of index %d is not possible", (long long)stride[i], i);
    if (shrink) {
      int64_t at = begin[i] < 0 ? begin[i] + x->dim[axis] : begin[i];
      if (a->begin_mask >> i & 1)
        at = 0;
      if (at < 0 || at >= x->dim[axis])
        return infer_fail(f, "index %lld is outside dimension %d of shape %s",
                          (long long)begin[i], axis, shape_text(x).text);
      box->begin[axis] = (int32_t)at;
      box->count[axis++] = 1;
      continue;
    }
    strided_axis(x->dim[axis], begin[i], end[i], stride[i], a->begin_mask >> i & 1,
                 a->end_mask >> i & 1, a->offset, &box->begin[axis], &box->count[axis]);
    box->stride[axis] = (int32_t)stride[i];
    inner->dim[inner->rank++] = box->count[axis++];
  }
  return ST_OK;
}

static Status read_box(Infer *f, Box *box, Shape *inner)
{
  return f->node->op->attr_bytes ? strided_box(f, box, inner) : slice_box(f, box, inner);
}

static Status infer(Infer *f)
{
  Box box;
  Shape inner;
  TRY(read_box(f, &box, &inner));
  return infer_out(f, 0, infer_in(f, 0)->dtype, inner);
}

static Infer view(const Graph *g, const Node *n, Diag *d)
{
  return (Infer){(Graph *)(uintptr_t)g, (Node *)(uintptr_t)n, d};
}

static bool merge(const Graph *g, const Node *n)
{
  Infer f = view(g, n, NULL);
  Box box;
  Shape inner;
  const Shape *x = &g->tensors[n->in[0]].shape;
  return merge_outer(g, n) && read_box(&f, &box, &inner) == ST_OK &&
         box_takes_all_of_dim0(&box, x) && inner.rank > 0 && inner.dim[0] == x->dim[0];
}

static void run(const void *args, const Call *c)
{
  const Args *a = args;
  // The output follows the inputs: x, begin, size or x, begin, end, strides.
  void *y = c->p[3];
  move_copy(&a->move, (const uint8_t *)c->p[0] + a->offset * a->bytes, y, c->pool);
}

static void run_strided(const void *args, const Call *c)
{
  const Args *a = args;
  move_copy(&a->move, (const uint8_t *)c->p[0] + a->offset * a->bytes, c->p[4], c->pool);
}

static Status bind(Bind *b)
{
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  Infer f = view(b->g, b->node, b->diag);
  Box box;
  Shape inner, x = bind_in(b, 0);
  TRY(read_box(&f, &box, &inner));
  if (x.rank > 0 && x.dim[0] != b->g->tensors[b->node->in[0]].shape.dim[0])
    box.count[0] = x.dim[0];
  a->bytes = (int32_t)dtype_bytes(bind_type(b, 0));
  a->move = box_move(&box, &x, true, a->bytes, &a->offset);
  b->run = b->node->op->attr_bytes ? run_strided : run;
  return ST_OK;
}

static Status grad(Grad *g)
{
  const Node *n = grad_of(g);
  Node copy = *n;
  Infer f = {.node = &copy};
  BoxAttr attr = {.outer = grad_tensor(g, n->in[0])->shape};
  f.g = grad_graph(g);
  TRY(read_box(&f, &attr.box, &attr.inner));
  grad_give(g, 0, grad_node(g, "BOX_SCATTER", &attr, 1, (int32_t[]){grad_out(g, 0)}));
  return ST_OK;
}

const OpDef slice_ops[] = {
  {.name = "SLICE", .code = 65, .options = 48, .min_in = 3, .max_in = 3, .n_out = 1,
   .infer = infer, .merge = merge, .bind = bind, .grad = grad},
  {.name = "STRIDED_SLICE", .code = 45, .options = 32, .min_in = 4, .max_in = 4, .n_out = 1,
   .attr_bytes = sizeof(StridedAttr), .parse = parse_strided, .infer = infer, .merge = merge,
   .bind = bind, .grad = grad},
  END_OPS};
