// SPDX-License-Identifier: Apache-2.0
// PAD and PADV2: constant padding of any element type. The gradient is the inner region.
#include "ops/boxes.h"

#include <string.h>

typedef struct {
  MoveShape move;
  int64_t offset, outer;
  int32_t bytes;
} Args;

static Status read_box(Infer *f, Box *box, Shape *out)
{
  const Tensor *x = infer_in(f, 0), *pads = infer_in(f, 1);
  int64_t pad[2 * MAX_RANK];
  int n = 0, rank = x->shape.rank;
  TRY(infer_ints(f, 1, pad, 2 * MAX_RANK, &n));
  if (n != 2 * rank)
    return infer_fail(f, "paddings have shape %s, wanted [%d,2]", shape_text(&pads->shape).text,
                      rank);
  *box = box_whole(&x->shape);
  *out = x->shape;
  for (int i = 0; i < rank; ++i) {
    int64_t before = pad[2 * i], after = pad[2 * i + 1];
    if (before < 0 || after < 0 || before + after + x->shape.dim[i] > INT32_MAX)
      return infer_fail(f, "padding %lld, %lld of dimension %d is out of range",
                        (long long)before, (long long)after, i);
    box->begin[i] = (int32_t)before;
    out->dim[i] += (int32_t)(before + after);
  }
  return ST_OK;
}

static Status infer(Infer *f)
{
  Box box;
  Shape out;
  TRY(read_box(f, &box, &out));
  const Tensor *x = infer_in(f, 0), *value = infer_in(f, 2);
  if (value && (value->dtype != x->dtype || shape_numel(&value->shape) != 1))
    return infer_fail(f, "the fill value is %s of shape %s, wanted one %s",
                      dtype_name(value->dtype), shape_text(&value->shape).text,
                      dtype_name(x->dtype));
  return infer_out(f, 0, x->dtype, out);
}

static bool merge(const Graph *g, const Node *n)
{
  const Tensor *x = &g->tensors[n->in[0]], *y = &g->tensors[n->out[0]];
  return merge_outer(g, n) && x->shape.dim[0] == y->shape.dim[0];
}

static void fill_and_copy(const Args *a, const Call *c, const void *value, void *y)
{
  static const uint64_t zero;
  move_fill(y, value ? value : &zero, a->outer, a->bytes, c->pool);
  move_copy(&a->move, c->p[0], (uint8_t *)y + a->offset * a->bytes, c->pool);
}

static void run(const void *args, const Call *c)
{
  fill_and_copy(args, c, NULL, c->p[2]);
}

static void run_value(const void *args, const Call *c)
{
  fill_and_copy(args, c, c->p[2], c->p[3]);
}

static Status bind(Bind *b)
{
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  Infer f = {(Graph *)(uintptr_t)b->g, (Node *)(uintptr_t)b->node, b->diag};
  Box box;
  Shape sample, x = bind_in(b, 0), outer = bind_out(b, 0);
  TRY(read_box(&f, &box, &sample));
  if (x.rank > 0)
    box.count[0] = x.dim[0]; // all samples
  a->bytes = (int32_t)dtype_bytes(bind_type(b, 0));
  a->move = box_move(&box, &outer, false, a->bytes, &a->offset);
  a->outer = shape_numel(&outer);
  b->run = b->node->n_in > 2 ? run_value : run;
  return ST_OK;
}

static Status grad(Grad *g)
{
  const Node *n = grad_of(g);
  const Tensor *x = grad_tensor(g, n->in[0]), *y = grad_tensor(g, n->out[0]);
  const Tensor *pads = grad_tensor(g, n->in[1]);
  BoxAttr attr = {.box = box_whole(&x->shape), .outer = y->shape, .inner = x->shape};
  for (int i = 0; i < x->shape.rank; ++i)
    attr.box.begin[i] = pads->dtype == DT_I32
                          ? ((const int32_t *)pads->data)[2 * i]
                          : (int32_t)((const int64_t *)pads->data)[2 * i];
  grad_give(g, 0, grad_node(g, "BOX_READ", &attr, 1, (int32_t[]){grad_out(g, 0)}));
  return ST_OK;
}

const OpDef pad_ops[] = {
  {.name = "PAD", .code = 34, .options = 22, .min_in = 2, .max_in = 2, .n_out = 1, .infer = infer,
   .merge = merge, .bind = bind, .grad = grad},
  {.name = "PADV2", .code = 60, .options = 43, .min_in = 3, .max_in = 3, .n_out = 1,
   .infer = infer, .merge = merge, .bind = bind, .grad = grad},
  END_OPS};
