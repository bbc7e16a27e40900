// SPDX-License-Identifier: Apache-2.0
// MAX_POOL_2D and AVERAGE_POOL_2D, NHWC, and their gradients. Semantics: kernels/pool2d.h.
#include "kernels/pool2d.h"
#include "ops/attrs.h"
#include "ops/op.h"
#include "ops/window.h"

static Status parse(const FbTable *options, void *attr, int *act, Diag *d)
{
  WindowAttr *w = attr;
  TRY(window_parse(options, 1, w, d));
  w->filter_w = fb_i32(*options, 3, 0);
  w->filter_h = fb_i32(*options, 4, 0);
  *act = fb_i8(*options, 5, 0);
  TRY(window_positive(w->filter_w, "filter_width", d));
  return window_positive(w->filter_h, "filter_height", d);
}

static bool geometry(const WindowAttr *a, const Shape *x, Pool2dShape *s)
{
  *s = (Pool2dShape){.n = x->dim[0], .ih = x->dim[1], .iw = x->dim[2], .c = x->dim[3],
                     .kh = a->filter_h, .kw = a->filter_w, .sh = a->stride_h, .sw = a->stride_w};
  return window_axis(a->same, s->ih, s->kh, s->sh, 1, &s->oh, &s->pt) &&
         window_axis(a->same, s->iw, s->kw, s->sw, 1, &s->ow, &s->pl);
}

static Status infer(Infer *f)
{
  TRY(infer_expect(f, 0, DT_F32, 4));
  const Shape *x = &infer_in(f, 0)->shape;
  const WindowAttr *a = f->node->attr;
  Pool2dShape s;
  if (!geometry(a, x, &s))
    return infer_fail(f, "a window of %dx%d is larger than input %s", a->filter_h, a->filter_w,
                      shape_text(x).text);
  return infer_out(f, 0, DT_F32, (Shape){.rank = 4, .dim = {s.n, s.oh, s.ow, s.c}});
}

static Status infer_like_last(Infer *f)
{
  return infer_out(f, 0, DT_F32, infer_in(f, 1)->shape);
}

static void run_max(const void *args, const Call *c)
{
  pool2d_kernels()->max(args, c->p[0], c->p[1], c->pool);
}

static void run_average(const void *args, const Call *c)
{
  pool2d_kernels()->average(args, c->p[0], c->p[1], c->pool);
}

// Both gradients take (dy, x); the average only needs the shape of x.
static void run_max_grad(const void *args, const Call *c)
{
  pool2d_kernels()->max_grad(args, c->p[1], c->p[0], c->p[2], c->accumulate, c->pool);
}

static void run_average_grad(const void *args, const Call *c)
{
  pool2d_kernels()->average_grad(args, c->p[0], c->p[2], c->accumulate, c->pool);
}

static Status bind_window(Bind *b, int x_operand, KernelFn run)
{
  Pool2dShape *s = bind_args(b, sizeof *s);
  if (!s)
    return diag_oom(b->diag);
  Shape x = bind_in(b, x_operand);
  geometry(b->node->attr, &x, s);
  s->act = kernel_act(b->node->act);
  b->run = run;
  return ST_OK;
}

static Status bind_max(Bind *b)
{
  return bind_window(b, 0, run_max);
}

static Status bind_average(Bind *b)
{
  return bind_window(b, 0, run_average);
}

static Status bind_max_grad(Bind *b)
{
  return bind_window(b, 1, run_max_grad);
}

static Status bind_average_grad(Bind *b)
{
  return bind_window(b, 1, run_average_grad);
}

static Status grad_max(Grad *g)
{
  const Node *n = grad_of(g);
  grad_give(g, 0,
            grad_node(g, "MAX_POOL_2D_GRAD", n->attr, 2, (int32_t[]){grad_out(g, 0), n->in[0]}));
  return ST_OK;
}

static Status grad_average(Grad *g)
{
  const Node *n = grad_of(g);
  grad_give(g, 0, grad_node(g, "AVERAGE_POOL_2D_GRAD", n->attr, 2,
                            (int32_t[]){grad_out(g, 0), n->in[0]}));
  return ST_OK;
}

static bool merge_grad(const Graph *g, const Node *n)
{
  return g->tensors[n->in[0]].batched && g->tensors[n->in[1]].batched;
}

#define POOL(NAME, number, binder, gradient)                                                       \
  {                                                                                                \
    .name = NAME, .code = number, .options = 5, .min_in = 1, .max_in = 1, .n_out = 1,              \
    .flags = OP_FUSES_ACT, .attr_bytes = sizeof(WindowAttr), .parse = parse, .infer = infer,       \
    .merge = merge_outer, .bind = binder, .grad = gradient                                         \
  }
#define POOL_GRAD(NAME, unread, binder)                                                            \
  {                                                                                                \
    .name = NAME, .code = OP_NOT_IN_FILES, .flags = OP_ACCUMULATES, .shape_only = unread,          \
    .attr_bytes = sizeof(WindowAttr), .infer = infer_like_last, .merge = merge_grad,               \
    .bind = binder                                                                                 \
  }

const OpDef pooling_ops[] = {POOL("MAX_POOL_2D", 17, bind_max, grad_max),
                             POOL("AVERAGE_POOL_2D", 1, bind_average, grad_average),
                             POOL_GRAD("MAX_POOL_2D_GRAD", 0, bind_max_grad),
                             POOL_GRAD("AVERAGE_POOL_2D_GRAD", 1u << 1, bind_average_grad),
                             END_OPS};
