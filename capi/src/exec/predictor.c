// SPDX-License-Identifier: Apache-2.0
#include "exec/predictor.h"

#include "base/mem.h"
#include "compile/fuse_chain.h"
#include "compile/passes.h"
#include "exec/program.h"
#include "plan/plan.h"

#include <string.h>

struct Predictor {
  Arena arena;
  Graph graph;
  Pool *pool;
  Program *program;
  void *block;
  const void **bound; // [n_tensors]
};

static Status build(Predictor *p, const Graph *model, const Shape *shapes, Diag *d)
{
  Graph *g = &p->graph;
  if (graph_copy(model, &p->arena, g) != ST_OK)
    return diag_oom(d);
  for (int i = 0; i < g->n_inputs; ++i) {
    Tensor *input = &g->tensors[g->inputs[i]];
    if (shapes)
      input->shape = shapes[i];
    input->batched = true;
  }
  TRY(passes_run(g, d));
  TRY(chain_pass(g, &(ChainRule){.min_bytes = CHAIN_MIN_BYTES, .samples = 1}, d));
  ProgramRequest r = {.graph = g,
                      .samples = 1,
                      .threads = pool_threads(p->pool),
                      .constants_stay = true,
                      .n_forward = g->n_nodes};
  TRY(program_build(&r, &p->program, d));
  p->block = mem_alloc(program_bytes(p->program));
  p->bound = arena_array(&p->arena, g->n_tensors, sizeof *p->bound);
  return p->block && p->bound ? ST_OK : diag_oom(d);
}

Status predictor_create(const Graph *model, const Shape *shapes, Pool *pool, Predictor **out,
                        Diag *d)
{
  *out = NULL;
  Predictor *p = mem_zalloc(sizeof *p);
  if (!p)
    return diag_oom(d);
  p->pool = pool;
  Status s = build(p, model, shapes, d);
  if (s != ST_OK) {
    predictor_destroy(p);
    return s;
  }
  *out = p;
  return ST_OK;
}

void predictor_destroy(Predictor *p)
{
  if (!p)
    return;
  program_destroy(p->program);
  mem_free(p->block);
  arena_drop(&p->arena);
  mem_free(p);
}

const Graph *predictor_graph(const Predictor *p)
{
  return &p->graph;
}

size_t predictor_bytes(const Predictor *p, int32_t tensor)
{
  return plan_tensor_bytes(&p->graph.tensors[tensor], 1);
}

void predictor_run(Predictor *p, const void *const *inputs, void *const *outputs)
{
  const Graph *g = &p->graph;
  for (int i = 0; i < g->n_inputs; ++i)
    p->bound[g->inputs[i]] = inputs[i];
  Hyper none = {0};
  ProgramRun run = {.block = p->block,
                    .inputs = (void *const *)p->bound,
                    .pool = p->pool,
                    .hyper = &none};
  program_run(p->program, &run, 0, g->n_nodes);
  for (int i = 0; i < g->n_outputs; ++i)
    if (outputs[i])
      memmove(outputs[i], program_address(p->program, &run, g->outputs[i]),
             predictor_bytes(p, g->outputs[i]));
}
