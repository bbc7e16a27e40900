// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"


int32_t graph_add_tensor(Graph *g, const Tensor *t)
{
  Tensor *all = arena_reserve(g->arena, g->tensors, g->n_tensors, &g->cap_tensors, sizeof *t);
  if (!all)
    return -1;
  g->tensors = all;
  all[g->n_tensors] = *t;
  if (!all[g->n_tensors].name)
    all[g->n_tensors].name = "";
  return (int32_t)g->n_tensors++;
}

int32_t graph_add_node(Graph *g, const Node *n)
{
  Node *all = arena_reserve(g->arena, g->nodes, g->n_nodes, &g->cap_nodes, sizeof *n);
  if (!all)
    return -1;
  g->nodes = all;
  Node *copy = &all[g->n_nodes];
  *copy = *n;
  copy->in = arena_copy(g->arena, n->in, sizeof(int32_t) * (size_t)n->n_in);
  copy->out = arena_copy(g->arena, n->out, sizeof(int32_t) * (size_t)n->n_out);
  if (!copy->in || !copy->out)
    return -1;
  for (int i = 0; i < n->n_out; ++i)
    g->tensors[n->out[i]].producer = (int32_t)g->n_nodes;
  return (int32_t)g->n_nodes++;
}

Status graph_copy(const Graph *from, Arena *arena, Graph *to)
{
  Graph g = *from;
  g.arena = arena;
  g.cap_tensors = from->n_tensors;
  g.cap_nodes = from->n_nodes;
  g.tensors = arena_copy(arena, from->tensors, sizeof(Tensor) * from->n_tensors);
  g.nodes = arena_copy(arena, from->nodes, sizeof(Node) * from->n_nodes);
  g.inputs = arena_copy(arena, from->inputs, sizeof(int32_t) * (size_t)from->n_inputs);
  g.outputs = arena_copy(arena, from->outputs, sizeof(int32_t) * (size_t)from->n_outputs);
  if (!g.tensors || !g.nodes || !g.inputs || !g.outputs)
    return ST_OOM;
  for (size_t i = 0; i < g.n_nodes; ++i) {
    Node *n = &g.nodes[i];
    n->in = arena_copy(arena, n->in, sizeof(int32_t) * (size_t)n->n_in);
    n->out = arena_copy(arena, n->out, sizeof(int32_t) * (size_t)n->n_out);
    if (!n->in || !n->out)
      return ST_OOM;
  }
  *to = g;
  return ST_OK;
}
