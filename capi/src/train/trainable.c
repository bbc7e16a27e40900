// SPDX-License-Identifier: Apache-2.0
#include "train/trainable.h"

#include "ops/op.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

bool trainable_has_op(const TrainableChoice *c, int32_t n_model_ops, int32_t op)
{
  if (!c->ops)
    return c->last_n < 0 || op >= n_model_ops - c->last_n;
  for (size_t i = 0; i < c->n_ops; ++i)
    if (c->ops[i] == op)
      return true;
  return false;
}

static bool is_role(const Node *n, int k)
{
  return k < 32 && (n->op->params >> k & 1) != 0;
}

// A layer whose weights and results are integers with scales.
static bool is_integer_layer(const Graph *g, const Node *n)
{
  for (int k = 0; k < n->n_in; ++k)
    if (is_role(n, k) && n->in[k] >= 0 && g->tensors[n->in[k]].kind == TK_CONST &&
        g->tensors[n->in[k]].quant.n > 0 && g->tensors[n->in[k]].dtype != DT_F32 &&
        n->n_out > 0 && g->tensors[n->out[0]].dtype != DT_F32)
      return true;
  return false;
}

// Matches one pattern of `length` bytes against a tensor.
static bool matches(const char *pattern, size_t length, const Graph *g, size_t t)
{
  char text[256];
  if (length >= sizeof text)
    return false;
  memcpy(text, pattern, length);
  text[length] = '\0';
  if (text[0] == '#') {
    char *end = NULL;
    long index = strtol(text + 1, &end, 10);
    return end != text + 1 && *end == '\0' && index == (long)t;
  }
  return fnmatch(text, g->tensors[t].name, 0) == 0;
}

static Status mark_patterns(Graph *g, const char *patterns, Diag *d)
{
  for (const char *p = patterns; *p;) {
    size_t length = strcspn(p, ";");
    size_t found = 0;
    for (size_t t = 0; length && t < (size_t)g->n_model_tensors; ++t) {
      Tensor *tensor = &g->tensors[t];
      bool constant = tensor->kind == TK_CONST || tensor->kind == TK_PARAM;
      if (constant && tensor->dtype == DT_F32 && matches(p, length, g, t)) {
        tensor->kind = TK_PARAM;
        ++found;
      }
    }
    if (length && !found)
      return diag_fail(d, ST_ERROR, "trainable: '%.*s' matches no float32 constant of the model",
                       (int)length, p);
    p += length + (p[length] == ';');
  }
  return ST_OK;
}

Status trainable_mark(Graph *g, const TrainableChoice *c, Diag *d)
{
  if (c->patterns)
    return mark_patterns(g, c->patterns, d);
  const bool is_explicit = c->ops || c->last_n >= 0;
  const Node *frozen = NULL;
  bool any = false;
  for (size_t i = 0; i < g->n_nodes; ++i) {
    const Node *n = &g->nodes[i];
    if (!trainable_has_op(c, g->n_model_ops, n->model_op))
      continue;
    if (!frozen && is_integer_layer(g, n))
      frozen = n;
    for (int k = 0; k < n->n_in; ++k)
      if (is_role(n, k) && n->in[k] >= 0 && g->tensors[n->in[k]].kind == TK_CONST &&
          g->tensors[n->in[k]].dtype == DT_F32) {
        g->tensors[n->in[k]].kind = TK_PARAM;
        any = true;
      }
  }
  if (frozen && (is_explicit || !any))
    return diag_fail(d, ST_ERROR,
                     "%s cannot be trained: it computes in %s, whose steps have no gradient; layers "
                     "of float32 behind it can",
                     node_text(g, frozen).text, dtype_name(g->tensors[frozen->out[0]].dtype));
  return ST_OK;
}

Status trainable_state_ops(const Graph *model, const TrainableChoice *c, Arena *arena,
                           bool **has_state, Diag *d)
{
  bool *state = arena_array(arena, (size_t)model->n_model_ops, sizeof *state);
  bool *reaches = arena_array(arena, model->n_tensors, sizeof *reaches);
  if (!state || !reaches)
    return diag_oom(d);
  int32_t first = model->n_model_ops;
  for (int32_t i = model->n_model_ops; i-- > 0;)
    if (trainable_has_op(c, model->n_model_ops, i))
      first = i;
  for (int i = 0; i < model->n_outputs; ++i)
    reaches[model->outputs[i]] = true;
  for (size_t i = model->n_nodes; i-- > 0;) {
    const Node *n = &model->nodes[i];
    bool reached = false;
    for (int k = 0; k < n->n_out; ++k)
      reached = reached || reaches[n->out[k]];
    for (int k = 0; reached && k < n->n_in; ++k)
      if (n->in[k] >= 0)
        reaches[n->in[k]] = true;
    if (n->model_op >= 0)
      state[n->model_op] = reached && n->op->params && n->model_op >= first;
  }
  *has_state = state;
  return ST_OK;
}
