// SPDX-License-Identifier: Apache-2.0
// CONV_2D, NHWC with filters [O,kh,kw,C/groups], and its gradients. Geometry and formulas:
// kernels/conv.h.
#include "kernels/conv.h"
#include "ops/attrs.h"
#include "ops/op.h"
#include "ops/window.h"

static Status parse(const FbTable *options, void *attr, int *act, Diag *d)
{
  WindowAttr *w = attr;
  TRY(window_parse(options, 1, w, d));
  *act = fb_i8(*options, 3, 0);
  w->dilation_w = fb_i32(*options, 4, 1);
  w->dilation_h = fb_i32(*options, 5, 1);
  TRY(window_positive(w->dilation_w, "dilation_w_factor", d));
  return window_positive(w->dilation_h, "dilation_h_factor", d);
}

// Geometry from one call's x and filter shapes; false where the window does not fit.
static bool geometry(const WindowAttr *a, const Shape *x, const Shape *w, ConvShape *s)
{
  *s = (ConvShape){.n = x->dim[0], .ih = x->dim[1], .iw = x->dim[2], .ic = x->dim[3],
                   .oc = w->dim[0], .kh = w->dim[1], .kw = w->dim[2],
                   .sh = a->stride_h, .sw = a->stride_w, .dh = a->dilation_h, .dw = a->dilation_w,
                   .groups = w->dim[3] ? x->dim[3] / w->dim[3] : 1};
  return window_axis(a->same, s->ih, s->kh, s->sh, s->dh, &s->oh, &s->pt) &&
         window_axis(a->same, s->iw, s->kw, s->sw, s->dw, &s->ow, &s->pl);
}

static Status infer(Infer *f)
{
  TRY(infer_expect(f, 0, DT_F32, 4));
  TRY(infer_expect(f, 1, DT_F32, 4));
  const Shape *x = &infer_in(f, 0)->shape, *w = &infer_in(f, 1)->shape;
  const Tensor *bias = infer_in(f, 2);
  if (w->dim[3] == 0 || x->dim[3] % w->dim[3] != 0 || w->dim[1] == 0 || w->dim[2] == 0)
    return infer_fail(f, "filter %s does not fit input %s: it has %d channels, the input %d",
                      shape_text(w).text, shape_text(x).text, w->dim[3], x->dim[3]);
  int32_t groups = x->dim[3] / w->dim[3];
  if (groups == 0 || w->dim[0] % groups != 0)
    return infer_fail(f, "%d filters do not divide into %d groups", w->dim[0], groups);
  if (bias) {
    TRY(infer_expect(f, 2, DT_F32, -1));
    if (shape_numel(&bias->shape) != w->dim[0])
      return infer_fail(f, "bias has %lld values, there are %d filters",
                        (long long)shape_numel(&bias->shape), w->dim[0]);
  }
  ConvShape s;
  if (!geometry(f->node->attr, x, w, &s))
    return infer_fail(f, "filter %s with its dilation is larger than input %s",
                      shape_text(w).text, shape_text(x).text);
  return infer_out(f, 0, DT_F32, (Shape){.rank = 4, .dim = {s.n, s.oh, s.ow, s.oc}});
}

static ConvShape *conv_args(Bind *b, const Shape *x, const Shape *w)
{
  ConvShape *s = bind_args(b, sizeof *s);
  if (s)
    geometry(b->node->attr, x, w, s);
  return s;
}

static void run(const void *args, const Call *c)
{
  conv_kernels()->forward(args, c->p[0], c->p[1], c->p[2], c->p[3], c->scratch, c->pool);
}

static void run_no_bias(const void *args, const Call *c)
{
  conv_kernels()->forward(args, c->p[0], c->p[1], NULL, c->p[2], c->scratch, c->pool);
}

static Status bind(Bind *b)
{
  Shape x = bind_in(b, 0), w = bind_in(b, 1);
  ConvShape *s = conv_args(b, &x, &w);
  if (!s)
    return diag_oom(b->diag);
  s->act = kernel_act(b->node->act);
  b->scratch = conv_kernels()->forward_scratch(s, b->threads);
  b->run = b->node->n_in > 2 ? run : run_no_bias;
  return ST_OK;
}

static Status grad(Grad *g)
{
  const Node *n = grad_of(g);
  int32_t dy = grad_out(g, 0);
  if (grad_wants(g, 0))
    grad_give(g, 0, grad_node(g, "CONV_2D_INPUT_GRAD", n->attr, 3,
                              (int32_t[]){dy, n->in[1], n->in[0]}));
  if (grad_wants(g, 1))
    grad_give(g, 1, grad_node(g, "CONV_2D_FILTER_GRAD", n->attr, 3,
                              (int32_t[]){dy, n->in[0], n->in[1]}));
  if (grad_wants(g, 2))
    grad_give_reduced(g, 2, dy);
  return ST_OK;
}

// CONV_2D_INPUT_GRAD(dy, w, x) -> dx and CONV_2D_FILTER_GRAD(dy, x, w) -> dw: the last operand only
// lends its shape.
static Status infer_grad(Infer *f)
{
  const Tensor *like = infer_in(f, 2);
  TRY(infer_out(f, 0, DT_F32, like->shape));
  if (!like->batched)
    infer_unbatched(f, 0);
  return ST_OK;
}

static void run_input_grad(const void *args, const Call *c)
{
  conv_kernels()->input_grad(args, c->p[0], c->p[1], c->p[3], c->accumulate, c->scratch, c->pool);
}

static Status bind_input_grad(Bind *b)
{
  Shape x = bind_in(b, 2), w = bind_in(b, 1);
  ConvShape *s = conv_args(b, &x, &w);
  if (!s)
    return diag_oom(b->diag);
  b->scratch = conv_kernels()->input_grad_scratch(s, b->threads);
  b->run = run_input_grad;
  return ST_OK;
}

static void run_filter_grad(const void *args, const Call *c)
{
  conv_kernels()->filter_grad(args, c->p[1], c->p[0], c->p[3], c->accumulate, c->scratch, c->pool);
}

static Status bind_filter_grad(Bind *b)
{
  Shape x = bind_in(b, 1), w = bind_in(b, 2);
  ConvShape *s = conv_args(b, &x, &w);
  if (!s)
    return diag_oom(b->diag);
  b->scratch = conv_kernels()->filter_grad_scratch(s, b->threads);
  b->run = run_filter_grad;
  return ST_OK;
}

static bool merge_input_grad(const Graph *g, const Node *n)
{
  return g->tensors[n->in[0]].batched && !g->tensors[n->in[1]].batched &&
         g->tensors[n->in[2]].batched;
}

static bool merge_filter_grad(const Graph *g, const Node *n)
{
  return g->tensors[n->in[0]].batched && g->tensors[n->in[1]].batched &&
         !g->tensors[n->in[2]].batched;
}

const OpDef conv2d_ops[] = {
  {.name = "CONV_2D", .code = 3, .options = 1, .min_in = 2, .max_in = 3, .n_out = 1,
   .flags = OP_FUSES_ACT, .optional = 1u << 2, .params = 1u << 1 | 1u << 2,
   .attr_bytes = sizeof(WindowAttr), .parse = parse, .infer = infer, .merge = merge_outer,
   .bind = bind, .grad = grad},
  {.name = "CONV_2D_INPUT_GRAD", .code = OP_NOT_IN_FILES, .flags = OP_ACCUMULATES,
   .shape_only = 1u << 2, .attr_bytes = sizeof(WindowAttr), .infer = infer_grad, .merge = merge_input_grad,
   .bind = bind_input_grad},
  {.name = "CONV_2D_FILTER_GRAD", .code = OP_NOT_IN_FILES, .flags = OP_ACCUMULATES,
   .shape_only = 1u << 2, .attr_bytes = sizeof(WindowAttr), .infer = infer_grad, .merge = merge_filter_grad,
   .bind = bind_filter_grad},
  END_OPS};
