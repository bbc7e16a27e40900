// SPDX-License-Identifier: Apache-2.0
#include "ops/convolution.h"

#include "ops/bindings.h"

typedef struct {
  ConvShape s;
  const ConvKernels *k;
} Args;

Status convolution_parse(const FbTable *options, int act_field, WindowAttr *w, int *act, Diag *d)
{
  TRY(window_parse(options, 1, w, d));
  *act = fb_i8(*options, act_field, 0);
  w->dilation_w = fb_i32(*options, act_field + 1, 1);
  w->dilation_h = fb_i32(*options, act_field + 2, 1);
  TRY(window_positive(w->dilation_w, "dilation_w_factor", d));
  return window_positive(w->dilation_h, "dilation_h_factor", d);
}

bool convolution_fit(const WindowAttr *a, ConvShape *s)
{
  s->sh = a->stride_h;
  s->sw = a->stride_w;
  s->dh = a->dilation_h;
  s->dw = a->dilation_w;
  return window_axis(a->same, s->ih, s->kh, s->sh, s->dh, &s->oh, &s->pt) &&
         window_axis(a->same, s->iw, s->kw, s->sw, s->dw, &s->ow, &s->pl);
}

static Args *make_args(Bind *b, const ConvFamily *f, int x_operand, int w_operand)
{
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return NULL;
  Shape x = bind_in(b, x_operand), w = bind_in(b, w_operand);
  f->geometry(b->node->attr, &x, &w, &a->s);
  a->k = f->kernels();
  return a;
}

static void run(const void *args, const Call *c)
{
  const Args *a = args;
  a->k->forward(&a->s, c->p[0], c->p[1], c->p[2], c->p[3], c->scratch, c->pool);
}

static void run_no_bias(const void *args, const Call *c)
{
  const Args *a = args;
  a->k->forward(&a->s, c->p[0], c->p[1], NULL, c->p[2], c->scratch, c->pool);
}

Status convolution_bind(Bind *b, const ConvFamily *f)
{
  Args *a = make_args(b, f, 0, 1);
  if (!a)
    return diag_oom(b->diag);
  a->s.act = kernel_act(b->node->act);
  b->scratch = a->k->forward_scratch(&a->s, b->threads);
  b->run = b->node->n_in > 2 ? run : run_no_bias;
  return ST_OK;
}

static void run_input_grad(const void *args, const Call *c)
{
  const Args *a = args;
  a->k->input_grad(&a->s, c->p[0], c->p[1], c->p[3], c->accumulate, c->scratch, c->pool);
}

Status convolution_bind_input_grad(Bind *b, const ConvFamily *f)
{
  Args *a = make_args(b, f, 2, 1);
  if (!a)
    return diag_oom(b->diag);
  b->scratch = a->k->input_grad_scratch(&a->s, b->threads);
  b->run = run_input_grad;
  return ST_OK;
}

static void run_filter_grad(const void *args, const Call *c)
{
  const Args *a = args;
  a->k->filter_grad(&a->s, c->p[1], c->p[0], c->p[3], c->accumulate, c->scratch, c->pool);
}

Status convolution_bind_filter_grad(Bind *b, const ConvFamily *f)
{
  Args *a = make_args(b, f, 1, 2);
  if (!a)
    return diag_oom(b->diag);
  b->scratch = a->k->filter_grad_scratch(&a->s, b->threads);
  b->run = run_filter_grad;
  return ST_OK;
}

Status convolution_grad(Grad *g, const ConvFamily *f)
{
  const Node *n = grad_of(g);
  int32_t dy = grad_out(g, 0);
  if (grad_wants(g, 0))
    grad_give(g, 0, grad_node(g, f->input_grad, n->attr, 3, (int32_t[]){dy, n->in[1], n->in[0]}));
  if (grad_wants(g, 1))
    grad_give(g, 1, grad_node(g, f->filter_grad, n->attr, 3, (int32_t[]){dy, n->in[0], n->in[1]}));
  bias_grad(g, 2, dy);
  return ST_OK;
}

Status convolution_infer_grad(Infer *f)
{
  const Tensor *like = infer_in(f, 2);
  TRY(infer_out(f, 0, DT_F32, like->shape));
  if (!like->batched)
    infer_unbatched(f, 0);
  return ST_OK;
}

bool convolution_merge_input_grad(const Graph *g, const Node *n)
{
  return g->tensors[n->in[0]].batched && !g->tensors[n->in[1]].batched &&
         g->tensors[n->in[2]].batched;
}

bool convolution_merge_filter_grad(const Graph *g, const Node *n)
{
  return g->tensors[n->in[0]].batched && g->tensors[n->in[1]].batched &&
         !g->tensors[n->in[2]].batched;
}
