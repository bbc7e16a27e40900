// SPDX-License-Identifier: Apache-2.0
#include "ops/convolution.h"

#include "ops/bindings.h"

typedef struct {
  ConvShape s;
  const ConvKernels *k;
  const float *packed; // filters as the kernel wants them, or NULL
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

static const float *filter_of(const Args *a, const Call *c)
{
  return a->packed ? a->packed : c->p[1];
}

static void run(const void *args, const Call *c)
{
  const Args *a = args;
  a->k->forward(&a->s, c->p[0], filter_of(a, c), c->p[2], c->add, c->p[3], c->scratch, c->pool);
}

static void run_no_bias(const void *args, const Call *c)
{
  const Args *a = args;
  a->k->forward(&a->s, c->p[0], filter_of(a, c), NULL, c->add, c->p[2], c->scratch, c->pool);
}

Status convolution_pack(Bind *b, int input, const ConvKernels *k, ConvWay way, ConvShape *s,
                        const float **packed)
{
  const float *w = bind_constant(b, input);
  const size_t bytes = w ? k->packed_bytes(s, way) : 0;
  if (!bytes)
    return ST_OK;
  float *to = bind_memory(b, bytes);
  if (!to)
    return diag_oom(b->diag);
  k->pack(s, way, w, to);
  *packed = to;
  s->is_packed = true;
  return ST_OK;
}

Status convolution_bind(Bind *b, const ConvFamily *f)
{
  Args *a = make_args(b, f, 0, 1);
  if (!a)
    return diag_oom(b->diag);
  a->s.act = kernel_act(b->node->act);
  TRY(convolution_pack(b, 1, a->k, CONV_FORWARD, &a->s, &a->packed));
  b->scratch = a->k->forward_scratch(&a->s, b->threads);
  b->run = b->node->n_in > 2 ? run : run_no_bias;
  return ST_OK;
}

static void run_input_grad(const void *args, const Call *c)
{
  const Args *a = args;
  a->k->input_grad(&a->s, c->p[0], c->p[1], c->add, NULL, c->p[3], c->scratch, c->pool);
}

static void run_masked_input_grad(const void *args, const Call *c)
{
  const Args *a = args;
  a->k->input_grad(&a->s, c->p[0], c->p[1], c->add, c->p[3], c->p[4], c->scratch, c->pool);
}

Status convolution_bind_input_grad(Bind *b, const ConvFamily *f)
{
  Args *a = make_args(b, f, 2, 1);
  if (!a)
    return diag_oom(b->diag);
  const bool is_masked = b->node->n_in > 3;
  a->s.act = is_masked ? kernel_act(b->node->act) : KACT_NONE;
  b->scratch = a->k->input_grad_scratch(&a->s, b->threads);
  b->run = is_masked ? run_masked_input_grad : run_input_grad;
  return ST_OK;
}

static void run_filter_grad(const void *args, const Call *c)
{
  const Args *a = args;
  a->k->filter_grad(&a->s, c->p[1], c->p[0], c->p[3], NULL, c->accumulate, c->scratch, c->pool);
}

static void run_filter_and_bias_grad(const void *args, const Call *c)
{
  const Args *a = args;
  a->k->filter_grad(&a->s, c->p[1], c->p[0], c->p[4], c->p[5], c->accumulate, c->scratch, c->pool);
}

Status convolution_bind_filter_grad(Bind *b, const ConvFamily *f)
{
  Args *a = make_args(b, f, 1, 2);
  if (!a)
    return diag_oom(b->diag);
  b->scratch = a->k->filter_grad_scratch(&a->s, b->threads);
  b->run = b->node->n_in > 3 ? run_filter_and_bias_grad : run_filter_grad;
  return ST_OK;
}

Status convolution_grad(Grad *g, const ConvFamily *f)
{
  const Node *n = grad_of(g);
  int32_t dy = grad_out(g, 0);
  if (grad_wants(g, 0))
    grad_give(g, 0, grad_node(g, f->input_grad, n->attr, 3, (int32_t[]){dy, n->in[1], n->in[0]}));
  // Both at once, unless samples share only one of them: then only one is a sum over samples.
  if (grad_wants(g, 1) && grad_wants(g, 2) &&
      grad_tensor(g, n->in[1])->batched == grad_tensor(g, n->in[2])->batched) {
    int32_t both[2];
    grad_nodes(g, f->filter_grad, n->attr, 4, (int32_t[]){dy, n->in[0], n->in[1], n->in[2]}, 2,
               both);
    grad_give(g, 1, both[0]);
    grad_give(g, 2, both[1]);
    return ST_OK;
  }
  if (grad_wants(g, 1))
    grad_give(g, 1, grad_node(g, f->filter_grad, n->attr, 3, (int32_t[]){dy, n->in[0], n->in[1]}));
  bias_grad(g, 2, dy);
  return ST_OK;
}

Status convolution_infer_grad(Infer *f)
{
  for (int i = 0; i < f->node->n_out; ++i) {
    const Tensor *like = infer_in(f, 2 + i);
    TRY(infer_out(f, i, DT_F32, like->shape));
    if (!like->batched)
      infer_unbatched(f, i);
  }
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
         !g->tensors[n->in[2]].batched && (n->n_in < 4 || !g->tensors[n->in[3]].batched);
}
