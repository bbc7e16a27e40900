// SPDX-License-Identifier: Apache-2.0
#include "train/copies.h"

#include "compile/passes.h"
#include "ops/op.h"
#include "ops/stored.h"

#include <string.h>

static bool is_stored(const Tensor *t)
{
  return t->kind == TK_CONST && t->data && stored_converts(t);
}

// Whether every reader takes t as weights and computes in float32.
static bool is_weight_only(const Graph *g, int32_t t)
{
  for (size_t i = 0; i < g->n_nodes; ++i) {
    const Node *n = &g->nodes[i];
    for (int k = 0; k < n->n_in; ++k)
      if (n->in[k] == t && !(k < 32 && (n->op->params >> k & 1) && n->n_out > 0 &&
                             g->tensors[n->out[0]].dtype == DT_F32))
        return false;
  }
  for (int i = 0; i < g->n_outputs; ++i)
    if (g->outputs[i] == t)
      return false;
  return true;
}

// Makes `to` a float32 constant with the value that `from` stores; they may be the same.
static Status copy_constant(Graph *g, int32_t from, int32_t to, Diag *d)
{
  enum { ALIGNMENT = 64 };
  const Tensor stored = g->tensors[from];
  const size_t n = (size_t)shape_numel(&stored.shape);
  uint8_t *p = n <= SIZE_MAX / 8 ? arena_alloc(g->arena, n * sizeof(float) + ALIGNMENT) : NULL;
  if (!p)
    return diag_oom(d);
  float *real = (float *)(void *)(p + (-(uintptr_t)p & (ALIGNMENT - 1)));
  stored_to_real(&stored, stored.data, real);
  Tensor *t = &g->tensors[to];
  t->kind = TK_CONST;
  t->dtype = DT_F32;
  t->shape = stored.shape;
  t->quant = (Quant){0};
  t->data = real;
  t->producer = -1;
  return ST_OK;
}

Status copies_make(Graph *g, int32_t **home, Diag *d)
{
  int32_t *readers = arena_array(g->arena, g->n_tensors, sizeof *readers);
  bool *keep = arena_array(g->arena, g->n_nodes, sizeof *keep);
  *home = arena_array(g->arena, g->n_tensors, sizeof **home);
  if (!readers || !keep || !*home)
    return diag_oom(d);
  graph_count_readers(g, readers);
  for (size_t t = 0; t < g->n_tensors; ++t)
    (*home)[t] = (int32_t)t;
  for (size_t i = 0; i < g->n_nodes; ++i) {
    const Node *n = &g->nodes[i];
    keep[i] = true;
    if (strcmp(n->op->name, "DEQUANTIZE") == 0 && is_stored(&g->tensors[n->in[0]]) &&
        readers[n->in[0]] == 1 && is_weight_only(g, n->out[0])) {
      TRY(copy_constant(g, n->in[0], n->out[0], d));
      (*home)[n->out[0]] = n->in[0];
      keep[i] = false;
    }
    for (int k = 0; k < n->n_in; ++k)
      if (n->in[k] >= 0 && is_stored(&g->tensors[n->in[k]]) && is_weight_only(g, n->in[k]))
        TRY(copy_constant(g, n->in[k], n->in[k], d));
  }
  graph_keep_nodes(g, keep);
  return ST_OK;
}
