// SPDX-License-Identifier: Apache-2.0
// Liveness over the node list, then memory sharing (aliases, results written over a dying operand),
// then offsets.
#include "plan/plan.h"

#include "base/mem.h"
#include "ops/op.h"
#include "plan/offsets.h"

typedef struct {
  const Graph *g;
  const PlanRequest *request;
  int32_t *root;
  int32_t *last; // [n_tensors] last node that reads it or a tensor that shares its memory
  int32_t *born; // [n_tensors] node that makes it
} Lives;

size_t plan_tensor_bytes(const Tensor *t, int32_t samples)
{
  return (size_t)shape_numel(&t->shape) * dtype_bytes(t->dtype) *
         (t->batched ? (size_t)samples : 1);
}

static int32_t root_of(Lives *l, int32_t t)
{
  while (l->root[t] != t)
    t = l->root[t] = l->root[l->root[t]];
  return t;
}

// Whether node n reads the bytes of its input k.
static bool is_read(const Node *n, int k)
{
  return n->in[k] >= 0 && !(k < 32 && n->op->shape_only >> k & 1);
}

static void read_at(Lives *l, int32_t t, int32_t node)
{
  t = root_of(l, t);
  if (node > l->last[t])
    l->last[t] = node;
}

static void find_aliases(Lives *l)
{
  const Graph *g = l->g;
  for (size_t i = 0; i < g->n_nodes; ++i)
    if (g->nodes[i].op->flags & OP_ALIAS)
      l->root[g->nodes[i].out[0]] = root_of(l, g->nodes[i].in[0]);
}

static void find_lives(Lives *l)
{
  const Graph *g = l->g;
  const PlanRequest *r = l->request;
  for (size_t t = 0; t < g->n_tensors; ++t) {
    l->last[t] = -1;
    l->born[t] = g->tensors[t].producer;
  }
  for (size_t i = 0; i < g->n_nodes; ++i) {
    const Node *n = &g->nodes[i];
    for (int k = 0; k < n->n_in; ++k)
      if (is_read(n, k))
        read_at(l, n->in[k], (int32_t)i);
    if (n->acc >= 0)
      read_at(l, n->acc, (int32_t)i);
    for (int k = 0; k < n->n_out; ++k)
      read_at(l, n->out[k], (int32_t)i);
  }
  // These are read after the last forward node, or after the last of all: at that node they do not
  // die yet.
  for (int i = 0; i < g->n_outputs; ++i)
    read_at(l, g->outputs[i], (int32_t)r->n_forward);
  for (size_t i = 0; i < r->n_keep; ++i)
    read_at(l, r->keep[i], (int32_t)r->n_forward);
  for (size_t i = 0; i < r->n_keep_to_end; ++i)
    read_at(l, r->keep_to_end[i], (int32_t)g->n_nodes);
}

// Whether output 0 of node i may take over the memory of operand t, which dies there.
static bool may_take(Lives *l, size_t i, int32_t t)
{
  const Graph *g = l->g;
  const Node *n = &g->nodes[i];
  int32_t from = root_of(l, t), to = n->out[0];
  int32_t samples = l->request->samples;
  return from != root_of(l, to) && g->tensors[from].kind == TK_TEMP &&
         g->tensors[to].kind == TK_TEMP && l->last[from] == (int32_t)i &&
         plan_tensor_bytes(&g->tensors[from], samples) ==
           plan_tensor_bytes(&g->tensors[to], samples) &&
         g->tensors[from].batched == g->tensors[to].batched;
}

static bool reads(Lives *l, const Node *n, int32_t root)
{
  for (int k = 0; k < n->n_in; ++k)
    if (is_read(n, k) && root_of(l, n->in[k]) == root)
      return true;
  return false;
}

static void take(Lives *l, int32_t from, int32_t to)
{
  from = root_of(l, from);
  l->root[to] = from;
  l->last[from] = l->last[to];
}

static void find_in_place(Lives *l)
{
  const Graph *g = l->g;
  for (size_t i = 0; i < g->n_nodes; ++i) {
    const Node *n = &g->nodes[i];
    if (n->n_out != 1 || (n->op->flags & OP_ALIAS))
      continue;
    bool elementwise = n->op->flags & OP_INPLACE;
    if (n->acc >= 0) {
      if (may_take(l, i, n->acc) && (elementwise || !reads(l, n, root_of(l, n->acc))))
        take(l, n->acc, n->out[0]);
      continue;
    }
    for (int k = 0; elementwise && k < n->n_in; ++k)
      if (is_read(n, k) && may_take(l, i, n->in[k])) {
        take(l, n->in[k], n->out[0]);
        break;
      }
  }
}

Status plan_build(const Graph *g, const PlanRequest *request, Arena *arena, Plan *out, Diag *d)
{
  Lives l = {.g = g, .request = request};
  l.root = arena_array(arena, g->n_tensors, sizeof *l.root);
  l.last = arena_array(arena, g->n_tensors, sizeof *l.last);
  l.born = arena_array(arena, g->n_tensors, sizeof *l.born);
  out->offset = arena_array(arena, g->n_tensors, sizeof *out->offset);
  out->scratch_offset = arena_array(arena, g->n_nodes, sizeof *out->scratch_offset);
  size_t n_items = g->n_tensors + g->n_nodes;
  PlanItem *items = arena_array(arena, n_items, sizeof *items);
  if (!l.root || !l.last || !l.born || !out->offset || !out->scratch_offset || !items)
    return diag_oom(d);
  for (size_t t = 0; t < g->n_tensors; ++t)
    l.root[t] = (int32_t)t;
  find_aliases(&l);
  find_lives(&l);
  find_in_place(&l);
  for (size_t t = 0; t < g->n_tensors; ++t) {
    l.root[t] = root_of(&l, (int32_t)t);
    if (l.root[t] == (int32_t)t && g->tensors[t].kind == TK_TEMP && l.born[t] >= 0)
      items[t] = (PlanItem){plan_tensor_bytes(&g->tensors[t], request->samples), l.born[t],
                            l.last[t], 0};
  }
  for (size_t i = 0; i < g->n_nodes; ++i)
    items[g->n_tensors + i] = (PlanItem){request->scratch[i], (int32_t)i, (int32_t)i, 0};
  if (plan_offsets(items, n_items, &out->bytes) != ST_OK)
    return diag_oom(d);
  for (size_t t = 0; t < g->n_tensors; ++t)
    out->offset[t] = items[t].offset;
  for (size_t i = 0; i < g->n_nodes; ++i)
    out->scratch_offset[i] = items[g->n_tensors + i].offset;
  out->root = l.root;
  return ST_OK;
}
