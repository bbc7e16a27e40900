// SPDX-License-Identifier: Apache-2.0
#include "exec/program.h"

#include "base/mem.h"
#include "compile/select.h"
#include "plan/plan.h"

#include <string.h>

typedef enum { AT_NOWHERE, AT_BLOCK, AT_FIXED, AT_INPUT } Where;

typedef struct {
  Where where;
  size_t offset;  // AT_BLOCK
  void *data;     // AT_FIXED
  int32_t tensor; // AT_INPUT
  size_t stride;  // bytes from one sample to the next; 0 where samples share it
} Operand;

typedef struct {
  KernelFn run; // NULL: an alias, nothing to do
  const void *args;
  int32_t loops;
  int32_t n_operands; // inputs, then outputs
  int32_t n_in;
  Operand *operand;
  Operand acc;        // AT_NOWHERE: none
  bool adds_apart;    // the kernel reads acc where it stands
  size_t out_bytes;   // of output 0, all samples
  bool sum_samples;   // output 0 is shared by the samples of a loop
  size_t scratch;     // offset
} Step;

struct Program {
  Arena arena;
  const Graph *graph;
  int32_t samples;
  size_t bytes;
  size_t n_steps;
  Step *steps;
  Operand *at;   // [n_tensors]
  void **p;      // room for the widest step's pointers
};

static Operand place(const Graph *g, const Plan *plan, int32_t t, int32_t samples)
{
  if (t < 0)
    return (Operand){.where = AT_NOWHERE};
  int32_t root = plan->root[t];
  const Tensor *tensor = &g->tensors[t], *source = &g->tensors[root];
  Operand o = {.stride = tensor->batched ? plan_tensor_bytes(tensor, samples) / (size_t)samples : 0};
  switch (source->kind) {
  case TK_TEMP:
    o.where = AT_BLOCK;
    o.offset = plan->offset[root];
    break;
  case TK_INPUT:
    o.where = AT_INPUT;
    o.tensor = root;
    break;
  default:
    o.where = AT_FIXED;
    o.data = source->data;
    break;
  }
  return o;
}

static Status build_steps(Program *p, const Selected *selected, const Plan *plan, Diag *d)
{
  const Graph *g = p->graph;
  p->steps = arena_array(&p->arena, g->n_nodes, sizeof *p->steps);
  p->at = arena_array(&p->arena, g->n_tensors, sizeof *p->at);
  if (!p->steps || !p->at)
    return diag_oom(d);
  for (size_t t = 0; t < g->n_tensors; ++t)
    p->at[t] = place(g, plan, (int32_t)t, p->samples);
  int32_t widest = 0;
  for (size_t i = 0; i < g->n_nodes; ++i) {
    const Node *n = &g->nodes[i];
    Step *s = &p->steps[i];
    s->run = selected[i].run;
    s->args = selected[i].args;
    s->loops = selected[i].loops;
    s->n_in = n->n_in;
    s->n_operands = n->n_in + n->n_out;
    s->scratch = plan->scratch_offset[i];
    s->operand = arena_array(&p->arena, (size_t)s->n_operands, sizeof *s->operand);
    if (!s->operand)
      return diag_oom(d);
    for (int k = 0; k < n->n_in; ++k)
      s->operand[k] = n->in[k] >= 0 ? p->at[n->in[k]] : (Operand){.where = AT_NOWHERE};
    for (int k = 0; k < n->n_out; ++k)
      s->operand[n->n_in + k] = p->at[n->out[k]];
    s->acc = n->acc >= 0 ? p->at[n->acc] : (Operand){.where = AT_NOWHERE};
    s->adds_apart = n->op->flags & OP_ADDS_APART;
    if (n->n_out) {
      s->out_bytes = plan_tensor_bytes(&g->tensors[n->out[0]], p->samples);
      s->sum_samples = s->loops > 1 && !g->tensors[n->out[0]].batched;
    }
    if (s->n_operands > widest)
      widest = s->n_operands;
  }
  p->n_steps = g->n_nodes;
  p->p = arena_array(&p->arena, (size_t)widest, sizeof *p->p);
  return p->p ? ST_OK : diag_oom(d);
}

static Status build(Program *p, const ProgramRequest *r, Diag *d)
{
  const Graph *g = r->graph;
  p->graph = g;
  p->samples = r->samples;
  Arena temporary = {0};
  Status s = ST_OK;
  const SelectTarget target = {r->samples, r->threads, r->constants_stay};
  Selected *selected = arena_array(&temporary, g->n_nodes, sizeof *selected);
  size_t *scratch = arena_array(&temporary, g->n_nodes, sizeof *scratch);
  if (!selected || !scratch)
    s = diag_oom(d);
  for (size_t i = 0; s == ST_OK && i < g->n_nodes; ++i) {
    s = select_kernel(g, &g->nodes[i], &target, &p->arena, &selected[i], d);
    scratch[i] = selected[i].scratch;
  }
  PlanRequest request = {.samples = r->samples,
                         .n_forward = r->n_forward,
                         .keep = r->keep,
                         .n_keep = r->n_keep,
                         .keep_to_end = r->keep_to_end,
                         .n_keep_to_end = r->n_keep_to_end,
                         .scratch = scratch};
  Plan plan = {0};
  if (s == ST_OK)
    s = plan_build(g, &request, &temporary, &plan, d);
  if (s == ST_OK)
    s = build_steps(p, selected, &plan, d);
  p->bytes = plan.bytes;
  arena_drop(&temporary);
  return s;
}

Status program_build(const ProgramRequest *request, Program **out, Diag *d)
{
  *out = NULL;
  Program *p = mem_zalloc(sizeof *p);
  if (!p)
    return diag_oom(d);
  Status s = build(p, request, d);
  if (s != ST_OK) {
    program_destroy(p);
    return s;
  }
  *out = p;
  return ST_OK;
}

void program_destroy(Program *p)
{
  if (!p)
    return;
  arena_drop(&p->arena);
  mem_free(p);
}

int32_t program_samples(const Program *p)
{
  return p->samples;
}

size_t program_bytes(const Program *p)
{
  return p->bytes;
}

static void *address(const Operand *o, const ProgramRun *run)
{
  switch (o->where) {
  case AT_BLOCK:
    return (uint8_t *)run->block + o->offset;
  case AT_FIXED:
    return o->data;
  case AT_INPUT:
    return run->inputs[o->tensor];
  default:
    return NULL;
  }
}

void *program_address(const Program *p, const ProgramRun *run, int32_t tensor)
{
  return address(&p->at[tensor], run);
}

static void run_step(const Program *p, const Step *s, const ProgramRun *run)
{
  Call call = {.p = p->p,
               .scratch = (uint8_t *)run->block + s->scratch,
               .accumulate = s->acc.where != AT_NOWHERE,
               .pool = run->pool,
               .hyper = run->hyper};
  for (int32_t k = 0; k < s->n_operands; ++k)
    p->p[k] = address(&s->operand[k], run);
  const uint8_t *add = address(&s->acc, run);
  if (s->adds_apart)
    call.add = add;
  else if (add && add != p->p[s->n_in])
    memcpy(p->p[s->n_in], add, s->out_bytes);
  for (int32_t i = 0; i < s->loops; ++i) {
    if (i > 0) {
      for (int32_t k = 0; k < s->n_operands; ++k)
        if (s->operand[k].stride)
          p->p[k] = (uint8_t *)p->p[k] + s->operand[k].stride;
      call.accumulate = call.accumulate || s->sum_samples;
      if (s->adds_apart)
        call.add = s->sum_samples ? p->p[s->n_in] : add ? add + (size_t)i * s->acc.stride : NULL;
    }
    s->run(s->args, &call);
  }
}

void program_run(const Program *p, const ProgramRun *run, size_t from, size_t to)
{
  for (size_t i = from; i < to && i < p->n_steps; ++i)
    if (p->steps[i].run)
      run_step(p, &p->steps[i], run);
}
