// SPDX-License-Identifier: Apache-2.0
#include "compile/fuse_chain.h"

#include "compile/passes.h"
#include "ops/chain.h"
#include "ops/op.h"

// Weights: the same for all samples.
static bool is_weight(const Graph *g, int32_t t)
{
  return g->tensors[t].kind == TK_CONST || g->tensors[t].kind == TK_PARAM;
}

static bool is_stage(const Graph *g, const Node *n, const OpDef *op)
{
  return n->op == op && is_weight(g, n->in[1]) && g->tensors[n->out[0]].batched &&
         (n->n_in < 3 || n->in[2] < 0 || is_weight(g, n->in[2]));
}

static bool is_pointwise(const Graph *g, const Node *n)
{
  const WindowAttr *w = n->attr;
  const Shape *filter = &g->tensors[n->in[1]].shape;
  return filter->dim[1] == 1 && filter->dim[2] == 1 && w->stride_h == 1 && w->stride_w == 1;
}

// See ops/chain_grad.c for what it needs.
static bool has_gradient(const Graph *g, Node *const *stage)
{
  const WindowAttr *w = stage[1]->attr;
  const int32_t reach = (g->tensors[stage[1]->in[1]].shape.dim[1] - 1) * w->dilation_h + 1;
  return (is_pointwise(g, stage[0]) || g->tensors[stage[0]->in[0]].kind == TK_INPUT) &&
         is_pointwise(g, stage[2]) && reach >= w->stride_h && stage[0]->act != ACT_TANH &&
         stage[1]->act != ACT_TANH;
}

static size_t row_bytes(const Graph *g, const Node *n)
{
  const Shape *s = &g->tensors[n->out[0]].shape;
  return (size_t)s->dim[2] * (size_t)s->dim[3] * sizeof(float);
}

static size_t between_bytes(const Graph *g, const Node *n)
{
  return row_bytes(g, n) * (size_t)g->tensors[n->out[0]].shape.dim[0] *
         (size_t)g->tensors[n->out[0]].shape.dim[1];
}

// Too large to stay in a cache between its maker and its reader, but a few rows of it do.
static bool is_worth_it(const Graph *g, Node *const *stage, const ChainRule *rule)
{
  const size_t samples = (size_t)rule->samples;
  const int32_t taps = g->tensors[stage[1]->in[1]].shape.dim[1];
  return samples * (between_bytes(g, stage[0]) + between_bytes(g, stage[1])) >= rule->min_bytes &&
         row_bytes(g, stage[0]) * (size_t)taps + row_bytes(g, stage[1]) <= CHAIN_CACHE;
}

// Makes the last stage the whole chain.
static Status join(Graph *g, Node *const *stage, Diag *d)
{
  enum { OPERANDS = 1 + 2 * CHAIN_STAGES };
  ChainAttr *attr = arena_alloc(g->arena, sizeof *attr);
  int32_t *in = arena_array(g->arena, OPERANDS, sizeof *in);
  if (!attr || !in)
    return diag_oom(d);
  in[0] = stage[0]->in[0];
  for (int i = 0; i < CHAIN_STAGES; ++i) {
    attr->window[i] = *(const WindowAttr *)stage[i]->attr;
    attr->act[i] = stage[i]->act;
    in[1 + i] = stage[i]->in[1];
    in[1 + CHAIN_STAGES + i] = stage[i]->n_in > 2 ? stage[i]->in[2] : -1;
  }
  Node *last = stage[CHAIN_STAGES - 1];
  last->op = op_by_name("CONV_CHAIN");
  last->attr = attr;
  last->in = in;
  last->n_in = OPERANDS;
  return ST_OK;
}

Status chain_pass(Graph *g, const ChainRule *rule, Diag *d)
{
  const OpDef *conv = op_by_name("CONV_2D"), *depthwise = op_by_name("DEPTHWISE_CONV_2D");
  const OpDef *const ops[CHAIN_STAGES] = {conv, depthwise, conv};
  int32_t *readers = arena_array(g->arena, g->n_tensors, sizeof *readers);
  int32_t *reader = arena_array(g->arena, g->n_tensors, sizeof *reader);
  bool *keep = arena_array(g->arena, g->n_nodes, sizeof *keep);
  if (!readers || !reader || !keep)
    return diag_oom(d);
  graph_count_readers(g, readers); // of them, `reader` is the last
  for (size_t i = 0; i < g->n_nodes; ++i) {
    keep[i] = true;
    for (int k = 0; k < g->nodes[i].n_in; ++k)
      if (g->nodes[i].in[k] >= 0)
        reader[g->nodes[i].in[k]] = (int32_t)i;
  }
  for (size_t i = 0; i < g->n_nodes; ++i) {
    Node *stage[CHAIN_STAGES] = {&g->nodes[i]};
    bool fits = keep[i] && is_stage(g, stage[0], ops[0]) && stage[0]->acc < 0;
    for (int k = 1; k < CHAIN_STAGES && fits; ++k) {
      const int32_t t = stage[k - 1]->out[0];
      stage[k] = &g->nodes[reader[t]];
      fits = readers[t] == 1 && is_stage(g, stage[k], ops[k]) && stage[k]->in[0] == t &&
             (k + 1 == CHAIN_STAGES || stage[k]->acc < 0);
    }
    if (!fits || (rule->is_trained && !has_gradient(g, stage)) || !is_worth_it(g, stage, rule))
      continue;
    TRY(join(g, stage, d));
    for (int k = 0; k + 1 < CHAIN_STAGES; ++k)
      keep[stage[k] - g->nodes] = false;
  }
  graph_keep_nodes(g, keep);
  return ST_OK;
}
