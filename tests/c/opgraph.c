// SPDX-License-Identifier: Apache-2.0
#include "opgraph.h"

#include "base/mem.h"
#include "compile/passes.h"
#include "fb/writer.h"
#include "kernels/half.h"

#include <stdlib.h>
#include <string.h>

int case_inputs(const OpCase *c)
{
  int n = OP_INPUTS;
  while (n > 0 && !c->in[n - 1].present && !c->in[n - 1].absent)
    --n;
  return n;
}

int case_outputs(const OpCase *c)
{
  int n = OP_OUTPUTS;
  while (n > 0 && !c->out[n - 1].present)
    --n;
  return n;
}

int64_t case_numel(const CaseTensor *t)
{
  int64_t n = 1;
  for (int i = 0; i < t->rank; ++i)
    n *= t->dim[i];
  return n;
}

// ---- data ----

double random_value(bool wide)
{
  static const double low[] = {0.3, 1.15, 5, 6.2}, high[] = {0.85, 2, 5.8, 7};
  int band = rand() % (wide ? 4 : 2);
  double x = low[band] + (high[band] - low[band]) * rand() / RAND_MAX;
  return rand() % 2 ? x : -x;
}

static void store(DType type, void *at, int64_t i, double v)
{
  switch (type) {
  case DT_F32: ((float *)at)[i] = (float)v; break;
  case DT_I32: ((int32_t *)at)[i] = (int32_t)v; break;
  case DT_I64: ((int64_t *)at)[i] = (int64_t)v; break;
  case DT_I16: ((int16_t *)at)[i] = (int16_t)v; break;
  case DT_U32: ((uint32_t *)at)[i] = (uint32_t)v; break;
  case DT_F16: ((uint16_t *)at)[i] = half_from_float((float)v); break;
  default: ((uint8_t *)at)[i] = (uint8_t)(int)v; break;
  }
}

// The options table of a case.
static FbTable write_options(const OpCase *c, Arena *arena)
{
  FbWriter w = {.arena = arena};
  FbSlot slots[FB_WRITER_MAX_FIELDS];
  int8_t bytes[FB_WRITER_MAX_FIELDS];
  int32_t ints[FB_WRITER_MAX_FIELDS];
  float floats[FB_WRITER_MAX_FIELDS];
  if (!c->options)
    return (FbTable){0};
  for (int i = 0; i < c->n_options; ++i) {
    const CaseOption *o = &c->options[i];
    bytes[i] = (int8_t)o->value;
    ints[i] = (int32_t)o->value;
    floats[i] = (float)o->value;
    const void *value = o->kind == CASE_BYTE ? (void *)&bytes[i]
                        : o->kind == CASE_INT ? (void *)&ints[i]
                        : o->kind == CASE_FLOAT ? (void *)&floats[i]
                                                : NULL;
    slots[i] = (FbSlot){(uint8_t)o->field, o->kind == CASE_BYTE ? 1 : 4, value};
  }
  fb_write_header(&w, "TEST");
  size_t table = fb_write_table(&w, slots, (size_t)c->n_options);
  for (int i = 0; i < c->n_options; ++i)
    if (c->options[i].kind == CASE_INTS) {
      const CaseOption *o = &c->options[i];
      size_t v = fb_write_vector(&w, o->ints, (size_t)o->n, sizeof *o->ints);
      fb_point(&w, fb_written_field(&w, table, o->field), v);
    }
  return (FbTable){w.bytes, (uint32_t)table};
}

Status opdata_make(const OpCase *c, Arena *arena, OpData *data, Diag *d)
{
  const OpDef *op = op_by_name(c->op);
  *data = (OpData){.attr = c->attr, .only = -1};
  if (!c->attr && op->attr_bytes) {
    void *attr = arena_alloc(arena, op->attr_bytes);
    int act = c->act;
    FbTable options = write_options(c, arena);
    if (!attr)
      return diag_oom(d);
    TRY(op->parse(&options, attr, &act, d));
    data->attr = attr;
    if (act != (int)c->act)
      return diag_fail(d, ST_ERROR, "fused activation %d, the case has %d", act, c->act);
  }
  for (int i = 0; i < case_inputs(c); ++i) {
    const CaseTensor *t = &c->in[i];
    int64_t n = case_numel(t);
    if (t->absent)
      continue;
    data->bytes[i] = (size_t)n * dtype_bytes(t->type);
    data->in[i] = arena_alloc(arena, OP_SAMPLES * data->bytes[i] + 8);
    if (!data->in[i])
      return diag_oom(d);
    for (int64_t s = 0; s < OP_SAMPLES; ++s)
      for (int64_t k = 0; k < n; ++k) {
        // Other samples see the case's values in another order, so they stay in the domain.
        double v = t->n ? t->value[(k + s) % n] : random_value(strcmp(c->op, "RELU6") == 0);
        if (!t->n && t->type != DT_F32)
          v = rand() % 100;
        store(t->type, data->in[i], s * n + k, v);
      }
  }
  return ST_OK;
}

// ---- graph ----

int32_t test_tensor(Graph *g, TensorKind kind, DType type, const Shape *shape, void *data)
{
  Tensor t = {.name = "t", .dtype = type, .kind = kind, .data = data, .batched = kind == TK_INPUT,
              .model_tensor = -1, .producer = -1};
  if (shape)
    t.shape = *shape;
  return graph_add_tensor(g, &t);
}

void test_node_outputs(Graph *g, const char *op, const void *attr, ActKind act, int n_in,
                       const int32_t *in, int n_out, int32_t *out)
{
  int32_t operands[OP_MAX_OPERANDS];
  for (int i = 0; i < n_in; ++i)
    operands[i] = in[i];
  for (int i = 0; i < n_out; ++i)
    out[i] = test_tensor(g, TK_TEMP, DT_F32, NULL, NULL);
  Node n = {.op = op_by_name(op), .attr = attr, .in = operands, .out = out, .n_in = n_in,
            .n_out = n_out, .acc = -1, .act = act, .model_op = (int32_t)g->n_nodes};
  graph_add_node(g, &n);
}

int32_t test_node(Graph *g, const char *op, const void *attr, ActKind act, int n_in,
                  const int32_t *in)
{
  int32_t out;
  test_node_outputs(g, op, attr, act, n_in, in, 1, &out);
  return out;
}

static int32_t add_operand(OpGraph *o, int i, Role role)
{
  const CaseTensor *t = &o->c->in[i];
  Shape shape = shape_of(t->rank, t->dim);
  o->source[i] = o->scale[i] = -1;
  if (role == ROLE_ABSENT)
    return -1;
  if (role == ROLE_INPUT || role == ROLE_TEMP) {
    int32_t x = o->source[i] = test_tensor(&o->g, TK_INPUT, t->type, &shape, NULL);
    o->g.tensors[x].quant = t->quant;
    for (int k = 0; role == ROLE_TEMP && k < 2; ++k)
      x = test_node(&o->g, "NEG", NULL, ACT_NONE, 1, &x);
    return x;
  }
  void *bytes = arena_copy(&o->arena, o->data->in[i], o->data->bytes[i]);
  TensorKind kind = role == ROLE_CONST ? TK_CONST : TK_PARAM;
  int32_t x = o->source[i] = test_tensor(&o->g, kind, t->type, &shape, bytes);
  o->g.tensors[x].quant = t->quant;
  if (role != ROLE_SCALED)
    return x;
  int64_t n = case_numel(t);
  const float *v = o->data->in[i];
  float *scale = o->scale_value[i] = arena_array(&o->arena, OP_SAMPLES * (size_t)n, sizeof *scale);
  for (int64_t s = 0; s < OP_SAMPLES; ++s)
    for (int64_t k = 0; k < n; ++k)
      scale[s * n + k] = v[k] == 0 ? 1 : v[s * n + k] / v[k];
  o->scale[i] = test_tensor(&o->g, TK_INPUT, DT_F32, &shape, NULL);
  return test_node(&o->g, "MUL", NULL, ACT_NONE, 2, (int32_t[]){x, o->scale[i]});
}

// Makes y depend on the samples, so that it can have a loss.
static int32_t add_zero(OpGraph *o, int32_t y)
{
  if (o->zero < 0)
    o->zero = test_tensor(&o->g, TK_INPUT, DT_F32, &(Shape){0}, NULL);
  return test_node(&o->g, "ADD", NULL, ACT_NONE, 2, (int32_t[]){y, o->zero});
}

// The operator of the case; its outputs have the types that a file would state.
static void add_operator(OpGraph *o, int n_in, const int32_t *in, int n_out, int32_t *out)
{
  test_node_outputs(&o->g, o->c->op, o->data->attr, o->c->act, n_in, in, n_out, out);
  for (int i = 0; i < n_out && i < OP_OUTPUTS; ++i)
    if (o->c->out[i].present) {
      o->g.tensors[out[i]].dtype = o->c->out[i].type;
      o->g.tensors[out[i]].quant = o->c->out[i].quant;
    }
}

Status opgraph_build(OpGraph *o, const OpCase *c, const OpData *data, const Role *role,
                     Purpose purpose)
{
  *o = (OpGraph){.c = c, .data = data, .zero = -1};
  o->g = (Graph){.arena = &o->arena, .name = "test"};
  const OpDef *op = op_by_name(c->op);
  int32_t in[OP_INPUTS];
  bool depends = false;
  int n_in = case_inputs(c);
  for (int i = 0; i < n_in; ++i) {
    in[i] = add_operand(o, i, role[i]);
    depends = depends || role[i] == ROLE_INPUT || role[i] == ROLE_TEMP || role[i] == ROLE_SCALED;
  }
  int n_out = op->flags & OP_EFFECT ? 0 : op->n_out ? op->n_out : case_outputs(c);
  n_out = n_out == 0 && !(op->flags & OP_EFFECT) ? 1 : n_out;
  add_operator(o, n_in, in, n_out, o->y);
  if (op->flags & OP_EFFECT) // has nothing to infer
    return ST_OK;
  int32_t outputs[OP_OUTPUTS], again[OP_OUTPUTS];
  if (purpose == TRAINED_PAIR)
    add_operator(o, n_in, in, n_out, again);
  for (int i = 0; i < n_out; ++i) {
    int32_t y = o->y[i];
    if (purpose != PLAIN && (c->out[i].type != DT_F32 || (data->only >= 0 && data->only != i)))
      continue;
    if (purpose == TRAINED_SUM || purpose == TRAINED_PAIR)
      y = test_node(&o->g, "ADD", NULL, ACT_NONE, 2,
                    (int32_t[]){y, purpose == TRAINED_PAIR ? again[i] : y});
    outputs[o->g.n_outputs++] = purpose != PLAIN && !depends ? add_zero(o, y) : y;
  }
  o->g.outputs = outputs;
  Status s = passes_run(&o->g, &o->diag);
  if (s == ST_OK && purpose != PLAIN)
    s = grad_pass(&o->g, &(GradOptions){.loss = LOSS_KIND_MSE, .sample_rows = 1}, &o->r, &o->diag);
  o->g.outputs = arena_copy(&o->arena, outputs, sizeof outputs);
  return s;
}

Status opgraph_program(OpGraph *o, int32_t samples)
{
  int32_t keep[2 * OP_INPUTS];
  for (size_t i = 0; i < o->r.n_trained; ++i)
    keep[i] = o->r.trained[i].gradient;
  ProgramRequest r = {.graph = &o->g,
                      .samples = samples,
                      .threads = 1,
                      .n_forward = o->r.n_forward ? o->r.n_forward : o->g.n_nodes,
                      .keep_to_end = keep,
                      .n_keep_to_end = o->r.n_trained};
  TRY(program_build(&r, &o->program, &o->diag));
  o->block = mem_alloc(program_bytes(o->program));
  o->bound = arena_array(&o->arena, o->g.n_tensors, sizeof *o->bound);
  if (!o->block || !o->bound)
    return diag_oom(&o->diag);
  // A kernel that reads what it has not written shows.
  memset(o->block, 0xFF, program_bytes(o->program));
  return ST_OK;
}

void opgraph_run(OpGraph *o, int first, size_t from, size_t to)
{
  static float zeros[OP_SAMPLES];
  for (int i = 0; i < case_inputs(o->c); ++i) {
    size_t at = (size_t)first * o->data->bytes[i];
    if (o->source[i] >= 0 && o->g.tensors[o->source[i]].kind == TK_INPUT)
      o->bound[o->source[i]] = (uint8_t *)o->data->in[i] + at;
    if (o->scale[i] >= 0)
      o->bound[o->scale[i]] = (uint8_t *)o->scale_value[i] + at;
  }
  for (int i = 0; o->r.labels && i < o->g.n_outputs; ++i) {
    const Tensor *out = &o->g.tensors[o->g.outputs[i]];
    o->bound[o->r.labels[i]] = o->data->label[i] + first * shape_numel(&out->shape);
  }
  if (o->zero >= 0)
    o->bound[o->zero] = zeros;
  Hyper hyper = {.learning_rate = 0, .alpha = 0.5f, .beta1 = 0.5f, .beta2 = 0.75f, .epsilon = 1};
  if (op_by_name(o->c->op)->flags & OP_EFFECT)
    hyper.learning_rate = 0.5f;
  program_run(o->program,
              &(ProgramRun){.block = o->block, .inputs = o->bound, .hyper = &hyper}, from, to);
}

void *opgraph_at(const OpGraph *o, int32_t tensor)
{
  const Tensor *t = &o->g.tensors[tensor];
  if (t->kind == TK_CONST || t->kind == TK_PARAM)
    return t->data;
  return program_address(o->program,
                         &(ProgramRun){.block = o->block, .inputs = o->bound}, tensor);
}

void opgraph_drop(OpGraph *o)
{
  program_destroy(o->program);
  mem_free(o->block);
  arena_drop(&o->arena);
}
