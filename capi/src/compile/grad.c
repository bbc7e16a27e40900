// SPDX-License-Identifier: Apache-2.0
// Reverse-mode differentiation over the node list, in the order llm.c writes it by hand: walk the
// forward nodes backwards, and let each operator's definition append the nodes that turn the
// gradient of its outputs into those of its inputs. Contributions to one tensor are summed, in the
// kernel that makes the last of them where it can add.
#include "compile/grad.h"

#include "ops/attrs.h"
#include "ops/op.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct Grad {
  Graph *g;
  Diag *diag;
  Status status;      // first failure; later calls do nothing
  Node node;          // the forward node being differentiated; a copy, since the array may move
  size_t first_added; // nodes from here on were appended for it
  size_t n_known;     // tensors of the forward graph: the ones the arrays below cover
  int32_t *gradient;  // [n_known] tensor that holds dL/dt, or -1
  bool *needs;        // [n_known]
};

static void fail(Grad *e, Status s)
{
  if (e->status == ST_OK)
    e->status = s;
}

const Node *grad_of(const Grad *e)
{
  return &e->node;
}

const Tensor *grad_tensor(const Grad *e, int32_t t)
{
  return &e->g->tensors[t];
}

Graph *grad_graph(Grad *e)
{
  return e->g;
}

int32_t grad_out(const Grad *e, int i)
{
  return e->gradient[e->node.out[i]];
}

bool grad_wants(const Grad *e, int i)
{
  return i < e->node.n_in && e->node.in[i] >= 0 && e->needs[e->node.in[i]];
}

Status grad_fail(Grad *e, const char *format, ...)
{
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  Status s = diag_fail(e->diag, ST_ERROR, "%s: %s", node_text(e->g, &e->node).text, text);
  fail(e, s);
  return s;
}

// Appends a node and infers the shapes of its outputs, which are -1 after a failure.
static void append(Grad *e, const char *op_name, const void *attr, int n_in, const int32_t *in,
                   int n_out, int32_t *out)
{
  for (int i = 0; i < n_out; ++i)
    out[i] = -1;
  if (e->status != ST_OK)
    return;
  Graph *g = e->g;
  const OpDef *op = op_by_name(op_name);
  int32_t operands[OP_MAX_OPERANDS], results[OP_MAX_OPERANDS];
  for (int i = 0; i < n_out; ++i) {
    Tensor t = {.kind = TK_TEMP, .dtype = DT_F32, .model_tensor = -1, .producer = -1};
    t.name = e->node.n_out ? g->tensors[e->node.out[0]].name : "";
    results[i] = graph_add_tensor(g, &t);
    if (results[i] < 0) {
      fail(e, diag_oom(e->diag));
      return;
    }
  }
  for (int i = 0; i < n_in; ++i)
    operands[i] = in[i];
  Node n = {.op = op,
            .in = operands,
            .out = results,
            .n_in = n_in,
            .n_out = n_out,
            .acc = -1,
            .model_op = -1};
  if (op->attr_bytes) {
    n.attr = arena_copy(g->arena, attr, op->attr_bytes);
    if (!n.attr) {
      fail(e, diag_oom(e->diag));
      return;
    }
  }
  int32_t at = graph_add_node(g, &n);
  if (at < 0) {
    fail(e, diag_oom(e->diag));
    return;
  }
  if (op->infer)
    fail(e, op->infer(&(Infer){g, &g->nodes[at], e->diag}));
  for (int i = 0; i < n_out; ++i)
    out[i] = results[i];
}

int32_t grad_node(Grad *e, const char *op_name, const void *attr, int n_in, const int32_t *in)
{
  int32_t out;
  append(e, op_name, attr, n_in, in, 1, &out);
  return out;
}

void grad_nodes(Grad *e, const char *op_name, const void *attr, int n_in, const int32_t *in,
                int n_out, int32_t *out)
{
  append(e, op_name, attr, n_in, in, n_out, out);
}

// Whether no node reads t, and t is the gradient of at most `holders` tensors: its producer may
// then still be changed.
static bool is_unread(const Grad *e, int32_t t, int holders)
{
  const Graph *g = e->g;
  for (size_t i = (size_t)g->tensors[t].producer + 1; i < g->n_nodes; ++i) {
    if (g->nodes[i].acc == t)
      return false;
    for (int k = 0; k < g->nodes[i].n_in; ++k)
      if (g->nodes[i].in[k] == t)
        return false;
  }
  for (size_t i = 0; i < e->n_known; ++i)
    holders -= e->gradient[i] == t;
  return holders >= 0;
}

// t was made for the current node, by a kernel that can add to it alone, and nothing has read it.
static bool can_add_into(const Grad *e, int32_t t)
{
  int32_t p = e->g->tensors[t].producer;
  if (p < (int32_t)e->first_added)
    return false;
  const Node *n = &e->g->nodes[p];
  const bool is_alone = n->n_out == 1 || (n->out[0] == t && (n->op->flags & OP_ADDS_APART));
  return n->acc < 0 && n->act == ACT_NONE && is_alone && (n->op->flags & OP_ACCUMULATES) &&
         is_unread(e, t, 0);
}

static int32_t sum(Grad *e, int32_t a, int32_t b)
{
  Graph *g = e->g;
  if (can_add_into(e, b) && g->tensors[a].producer < g->tensors[b].producer) {
    g->nodes[g->tensors[b].producer].acc = a;
    return b;
  }
  return grad_node(e, "ADD", NULL, 2, (int32_t[]){a, b});
}

static int32_t sum_to(Grad *e, int32_t t, const Tensor *target)
{
  SumToAttr attr = {.shape = target->shape,
                    .over_samples = !target->batched && e->g->tensors[t].batched};
  return grad_node(e, "SUM_TO", &attr, 1, &t);
}

static void give(Grad *e, int32_t target, int32_t t)
{
  if (e->status != ST_OK || t < 0)
    return;
  if (e->g->tensors[t].batched && !e->g->tensors[target].batched)
    t = sum_to(e, t, &e->g->tensors[target]);
  if (t < 0)
    return;
  e->gradient[target] = e->gradient[target] < 0 ? t : sum(e, e->gradient[target], t);
}

void grad_give(Grad *e, int i, int32_t t)
{
  if (e->status != ST_OK || t < 0 || !grad_wants(e, i))
    return;
  int32_t target = e->node.in[i];
  if (!shape_equal(&e->g->tensors[t].shape, &e->g->tensors[target].shape)) {
    fail(e, grad_fail(e, "the gradient of input %d has shape %s, the input %s", i,
                      shape_text(&e->g->tensors[t].shape).text,
                      shape_text(&e->g->tensors[target].shape).text));
    return;
  }
  give(e, target, t);
}

void grad_give_reduced(Grad *e, int i, int32_t t)
{
  if (e->status != ST_OK || t < 0 || !grad_wants(e, i))
    return;
  const Tensor *target = &e->g->tensors[e->node.in[i]];
  if (!shape_equal(&e->g->tensors[t].shape, &target->shape))
    t = sum_to(e, t, target);
  grad_give(e, i, t);
}

// Marks what a gradient can flow into: parameters and everything computed from them.
static void mark_needs(Grad *e)
{
  Graph *g = e->g;
  for (size_t i = 0; i < g->n_tensors; ++i)
    e->needs[i] = g->tensors[i].kind == TK_PARAM;
  for (size_t i = 0; i < g->n_nodes; ++i) {
    bool any = false;
    for (int k = 0; k < g->nodes[i].n_in; ++k)
      any = any || (g->nodes[i].in[k] >= 0 && e->needs[g->nodes[i].in[k]]);
    any = any || (g->nodes[i].acc >= 0 && e->needs[g->nodes[i].acc]);
    for (int k = 0; k < g->nodes[i].n_out; ++k)
      e->needs[g->nodes[i].out[k]] = any && g->tensors[g->nodes[i].out[k]].dtype == DT_F32;
  }
}

// ---- losses ----

static Status loss_attr(const Grad *e, const GradOptions *o, int32_t output, LossAttr *attr)
{
  const Tensor *t = &e->g->tensors[output];
  if (t->dtype != DT_F32)
    return diag_fail(e->diag, ST_ERROR, "output '%s' is %s; a loss needs float32", t->name,
                     dtype_name(t->dtype));
  if (!t->batched)
    return diag_fail(e->diag, ST_ERROR,
                     "output '%s' does not depend on any input: it cannot have a loss", t->name);
  int64_t numel = shape_numel(&t->shape);
  if (numel == 0)
    return diag_fail(e->diag, ST_ERROR, "output '%s' has shape %s: no element to take a loss of",
                     t->name, shape_text(&t->shape).text);
  *attr = (LossAttr){.rows = 1, .mean = o->mean, .beta = 1};
  if (o->loss == LOSS_KIND_CCE)
    attr->rows = t->shape.rank ? (int32_t)(numel / t->shape.dim[t->shape.rank - 1]) : 1;
  else if (t->shape.rank > 0 && t->shape.dim[0] == o->sample_rows)
    attr->rows = o->sample_rows;
  return ST_OK;
}

// The SOFTMAX node that makes the prediction, if one does: cross-entropy then goes to its input
// directly, where the gradient is exact however small a probability has become.
static const Node *softmax_of(const Graph *g, int32_t t)
{
  int32_t p = g->tensors[t].producer;
  return p >= 0 && g->nodes[p].op == op_by_name("SOFTMAX") ? &g->nodes[p] : NULL;
}

static Status append_losses(Grad *e, const GradOptions *o, GradResult *r)
{
  Graph *g = e->g;
  size_t n = (size_t)g->n_outputs;
  r->labels = arena_array(g->arena, n, sizeof *r->labels);
  r->losses = arena_array(g->arena, n, sizeof *r->losses);
  if (!r->labels || !r->losses)
    return diag_oom(e->diag);
  for (size_t i = 0; i < n; ++i) {
    LossAttr attr;
    TRY(loss_attr(e, o, g->outputs[i], &attr));
    Tensor label = {.name = g->tensors[g->outputs[i]].name,
                    .dtype = DT_F32,
                    .shape = g->tensors[g->outputs[i]].shape,
                    .kind = TK_INPUT,
                    .batched = true,
                    .model_tensor = -1,
                    .producer = -1};
    r->labels[i] = graph_add_tensor(g, &label);
    if (r->labels[i] < 0)
      return diag_oom(e->diag);
    const char *op = o->loss == LOSS_KIND_MSE           ? "LOSS_MSE"
                     : softmax_of(g, g->outputs[i])     ? "LOSS_CCE"
                                                        : "LOSS_CCE_LOGITS";
    r->losses[i] = grad_node(e, op, &attr, 2, (int32_t[]){g->outputs[i], r->labels[i]});
  }
  return e->status;
}

static Status append_loss_gradients(Grad *e, const GradOptions *o, const GradResult *r)
{
  Graph *g = e->g;
  for (int i = 0; i < g->n_outputs; ++i) {
    int32_t prediction = g->outputs[i];
    if (!e->needs[prediction])
      continue;
    LossAttr attr;
    TRY(loss_attr(e, o, prediction, &attr));
    const Node *softmax = o->loss == LOSS_KIND_CCE ? softmax_of(g, prediction) : NULL;
    const char *op = o->loss == LOSS_KIND_MSE ? "LOSS_MSE_GRAD"
                     : softmax                ? "SOFTMAX_CCE_GRAD"
                                              : "LOSS_CCE_LOGITS_GRAD";
    if (softmax)
      attr.beta = ((const SoftmaxAttr *)softmax->attr)->beta;
    int32_t target = softmax ? softmax->in[0] : prediction;
    e->first_added = g->n_nodes;
    int32_t t = grad_node(e, op, &attr, 2, (int32_t[]){prediction, r->labels[i]});
    if (t < 0)
      return e->status;
    e->gradient[target] = e->gradient[target] < 0 ? t : sum(e, e->gradient[target], t);
  }
  return e->status;
}

// ---- updates ----

static Status append_update(Grad *e, const GradOptions *o, GradResult *r, int32_t param)
{
  Graph *g = e->g;
  Trained t = {.param = param, .gradient = e->gradient[param], .m = -1, .v = -1};
  if (t.gradient < 0)
    return ST_OK;
  e->node.n_out = 0;
  if (o->adam) {
    Tensor state = {.name = g->tensors[param].name,
                    .dtype = DT_F32,
                    .shape = g->tensors[param].shape,
                    .kind = TK_STATE,
                    .model_tensor = -1,
                    .producer = -1};
    t.m = graph_add_tensor(g, &state);
    t.v = graph_add_tensor(g, &state);
    if (t.m < 0 || t.v < 0)
      return diag_oom(e->diag);
    append(e, "ADAM_UPDATE", NULL, 4, (int32_t[]){param, t.gradient, t.m, t.v}, 0, NULL);
  } else {
    append(e, "SGD_UPDATE", NULL, 2, (int32_t[]){param, t.gradient}, 0, NULL);
  }
  r->trained[r->n_trained++] = t;
  return e->status;
}

// Parameters whose last reader in the backward pass has been appended: those that node i is the
// first to use, since the walk goes backwards.
static Status append_updates(Grad *e, const GradOptions *o, GradResult *r, const int32_t *first_use,
                             size_t i)
{
  for (int k = 0; k < e->node.n_in; ++k) {
    int32_t t = e->node.in[k];
    if (t < 0 || e->g->tensors[t].kind != TK_PARAM || first_use[t] != (int32_t)i)
      continue;
    bool seen = false;
    for (int q = 0; q < k; ++q)
      seen = seen || e->node.in[q] == t;
    if (!seen)
      TRY(append_update(e, o, r, t));
  }
  return ST_OK;
}

// ---- the walk ----

// Lets the kernel that has made the gradient t of y = act(..) multiply it by act'; false where it
// cannot.
static bool mask_in_producer(const Grad *e, int32_t t, ActKind act, int32_t y)
{
  Graph *g = e->g;
  const int32_t p = g->tensors[t].producer;
  if (p < 0 || act == ACT_TANH || !is_unread(e, t, 1))
    return false;
  Node *n = &g->nodes[p];
  if (!(n->op->flags & OP_MASKS) || n->act != ACT_NONE || n->out[0] != t)
    return false;
  int32_t *in = arena_array(g->arena, (size_t)n->n_in + 1, sizeof *in);
  if (!in)
    return false;
  for (int k = 0; k < n->n_in; ++k)
    in[k] = n->in[k];
  in[n->n_in++] = y;
  n->in = in;
  n->act = act;
  return true;
}

static Status mask_activation(Grad *e)
{
  const Node *n = &e->node;
  if (n->act == ACT_NONE || e->gradient[n->out[0]] < 0 ||
      mask_in_producer(e, e->gradient[n->out[0]], n->act, n->out[0]))
    return ST_OK;
  ActGradAttr attr = {.act = n->act};
  int32_t masked = grad_node(e, "ACT_GRAD", &attr, 2,
                             (int32_t[]){e->gradient[n->out[0]], n->out[0]});
  e->gradient[n->out[0]] = masked;
  return e->status;
}

static Status differentiate(Grad *e)
{
  const Node *n = &e->node;
  const bool adds = n->acc >= 0 && e->needs[n->acc]; // what the kernel adds to its result
  bool reached = false, wanted = adds;
  for (int k = 0; k < n->n_out; ++k)
    reached = reached || e->gradient[n->out[k]] >= 0;
  for (int k = 0; k < n->n_in; ++k)
    wanted = wanted || grad_wants(e, k);
  if (!reached || !wanted)
    return ST_OK;
  if (!n->op->grad)
    return grad_fail(e, "has no gradient%s%s", n->op->no_grad ? ": " : "",
                     n->op->no_grad ? n->op->no_grad : "");
  TRY(mask_activation(e));
  // First, so that the kernel of another contribution to the same tensor can add it.
  if (adds)
    give(e, n->acc, e->gradient[n->out[0]]);
  return e->status == ST_OK ? n->op->grad(e) : e->status;
}

Status grad_pass(Graph *g, const GradOptions *o, GradResult *r, Diag *d)
{
  *r = (GradResult){0};
  Grad e = {.g = g, .diag = d, .n_known = g->n_tensors};
  e.gradient = arena_array(g->arena, e.n_known, sizeof *e.gradient);
  e.needs = arena_array(g->arena, e.n_known, sizeof *e.needs);
  int32_t *first_use = arena_array(g->arena, e.n_known, sizeof *first_use);
  r->trained = arena_array(g->arena, e.n_known, sizeof *r->trained);
  if (!e.gradient || !e.needs || !first_use || !r->trained)
    return diag_oom(d);
  for (size_t i = 0; i < e.n_known; ++i)
    e.gradient[i] = first_use[i] = -1;
  size_t n_nodes = g->n_nodes;
  for (size_t i = n_nodes; i-- > 0;)
    for (int k = 0; k < g->nodes[i].n_in; ++k)
      if (g->nodes[i].in[k] >= 0)
        first_use[g->nodes[i].in[k]] = (int32_t)i;
  mark_needs(&e);
  TRY(append_losses(&e, o, r));
  r->n_forward = g->n_nodes;
  TRY(append_loss_gradients(&e, o, r));
  for (size_t i = n_nodes; i-- > 0;) {
    e.node = g->nodes[i];
    e.first_added = g->n_nodes;
    TRY(differentiate(&e));
    TRY(append_updates(&e, o, r, first_use, i));
  }
  return ST_OK;
}
