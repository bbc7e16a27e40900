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
    return infer_fail(f, "a window of %dx%d does not fit into input %s", a->filter_h, a->filter_w,
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

#define WINDOW(SAME, KH, KW, SH, SW)                                                               \
  ATTR(WindowAttr, .same = SAME, .filter_h = KH, .filter_w = KW, .stride_h = SH, .stride_w = SW,   \
       .dilation_h = 1, .dilation_w = 1)
#define X                                                                                          \
  TENSOR(F32, DIMS(1, 4, 4, 1), VALUES(-3, 2, -4, 1, -5, 0, 5, -1, 4, -2, 3, -3, 2, -4, 1, -5))

const OpCase pooling_cases[] = {
  CASE("MAX_POOL_2D", "VALID", IN(X), OUT(TENSOR(F32, DIMS(1, 2, 2, 1), VALUES(2, 5, 4, 3))),
       WINDOW(false, 2, 2, 2, 2)),
  CASE("MAX_POOL_2D", "options", IN(X), OUT(TENSOR(F32, DIMS(1, 2, 2, 1), VALUES(1, 1, 1, 1))),
       OPTIONS(OPT_BYTE(0, 0), OPT_INT(1, 2), OPT_INT(2, 2), OPT_INT(3, 3), OPT_INT(4, 3),
          OPT_BYTE(5, 2)), .act = ACT_RELU_N1_TO_1),
  CASE("MAX_POOL_2D", "padding never wins", IN(TENSOR(F32, DIMS(1, 1, 2, 1), VALUES(-3, -2))),
       OUT(TENSOR(F32, DIMS(1, 1, 2, 1), VALUES(-2, -2))), WINDOW(true, 3, 3, 1, 1)),
  CASE("MAX_POOL_2D_GRAD", "the first of several largest ones", IN(TENSOR(F32, DIMS(1, 1, 2, 1),
          VALUES(10, 100)), TENSOR(F32, DIMS(1, 2, 3, 1), VALUES(7, 7, 1, 7, 1, 1))),
       OUT(TENSOR(F32, DIMS(1, 2, 3, 1), VALUES(10, 100, 0, 0, 0, 0))), WINDOW(false, 2, 2, 1, 1)),

  CASE("MAX_POOL_2D", "overlapping", IN(RANDOM(1, 5, 6, 3)), OUT(RANDOM(1, 3, 5, 3)),
       WINDOW(false, 3, 2, 1, 1), .act = ACT_RELU),
  CASE("MAX_POOL_2D", "uneven strides", IN(RANDOM(1, 7, 7, 2)), OUT(RANDOM(1, 4, 3, 2)),
       WINDOW(true, 2, 3, 2, 3), .act = ACT_TANH),
  CASE("MAX_POOL_2D", "strides wider than the window", IN(RANDOM(2, 5, 5, 17)),
       OUT(RANDOM(2, 2, 2, 17)), WINDOW(false, 2, 2, 3, 3)),
  CASE("MAX_POOL_2D", "refused: window", IN(RANDOM(1, 2, 4, 1)), WINDOW(false, 3, 1, 1, 1),
       .refusal = "a window of 3x1 does not fit into input [1,2,4,1]"),
  CASE("MAX_POOL_2D", "refused: filter", IN(X),
       OPTIONS(OPT_INT(1, 1), OPT_INT(2, 1), OPT_INT(3, 2)), .refusal = "filter_height is 0"),
  CASE("MAX_POOL_2D", "refused: rank", IN(RANDOM(4, 4, 1)), WINDOW(true, 2, 2, 1, 1),
       .refusal = "wanted rank 4"),
  CASE("AVERAGE_POOL_2D", "padding does not count", IN(X),
       OUT(TENSOR(F32, DIMS(1, 2, 2, 1), VALUES(0, 0.16666667, 0.66666667, -1))),
       WINDOW(true, 3, 3, 2, 2)),
  CASE("AVERAGE_POOL_2D", "options", IN(X), OUT(TENSOR(F32, DIMS(1, 2, 2, 1), VALUES(0, 0, 3, 0))),
       OPTIONS(OPT_BYTE(0, 1), OPT_INT(1, 3), OPT_INT(2, 2), OPT_INT(3, 1), OPT_INT(4, 2),
          OPT_BYTE(5, 1)), .act = ACT_RELU, .no_numeric_grad = true),
  CASE("AVERAGE_POOL_2D", "global", IN(RANDOM(1, 4, 3, 5)), OUT(RANDOM(1, 1, 1, 5)),
       WINDOW(false, 4, 3, 4, 3)),
  CASE("AVERAGE_POOL_2D", "overlapping", IN(RANDOM(2, 5, 4, 3)), OUT(RANDOM(2, 5, 4, 3)),
       WINDOW(true, 3, 2, 1, 1), .act = ACT_TANH),
  CASE("AVERAGE_POOL_2D", "uneven strides", IN(RANDOM(1, 6, 7, 2)), OUT(RANDOM(1, 2, 3, 2)),
       WINDOW(false, 3, 2, 3, 2), .act = ACT_RELU6),
  CASE("AVERAGE_POOL_2D", "refused: stride", IN(X), OPTIONS(OPT_INT(1, 0), OPT_INT(2, 1)),
       .refusal = "stride_w is 0"),
  CASE("AVERAGE_POOL_2D", "refused: uint8", IN(TENSOR(U8, DIMS(1, 4, 4, 1))),
       WINDOW(true, 2, 2, 1, 1), .refusal = "is uint8, wanted float32"),
  END_CASES};
