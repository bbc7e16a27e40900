// SPDX-License-Identifier: Apache-2.0
#include "train/train.h"

#include "base/mem.h"
#include "compile/fuse_chain.h"
#include "compile/passes.h"
#include "exec/program.h"
#include "format/checkpoint.h"
#include "train/copies.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

// Steps of a full batch, of a shorter last one, and of a few sizes a caller may alternate between.
enum { MAX_PROGRAMS = 4 };

struct Train {
  Arena arena;
  Model *model;
  TrainConfig config;
  Pool *pool;
  Graph graph;
  GradResult grad;
  size_t n_predict;          // nodes that make the outputs, before the losses
  int32_t sample_rows;       // dimension 0 of the file's inputs
  int32_t samples;           // of a full step
  Program *programs[MAX_PROGRAMS]; // [0] is the full batch; the others are replaced in turn
  int next_program;
  void *block;
  size_t block_bytes;
  const void **bound;        // [n_tensors] buffers of this run
  float *state;              // m and v of all trained parameters
  float *losses;             // [n_outputs]
  int32_t *home;             // [n_model_tensors] the tensor of the file that stores each
  int32_t *parameters;       // [n_trained] in the order of the model's tensors: index in grad.trained
  const Program *last;       // of the last updating run
  CheckpointEntry *entries;
  size_t n_entries;
  uint32_t step;
};

// ---- preparing ----

static int32_t common_rows(const Graph *g)
{
  int32_t rows = 0;
  for (int i = 0; i < g->n_inputs; ++i) {
    const Shape *s = &g->tensors[g->inputs[i]].shape;
    if (s->rank == 0 || (rows && s->dim[0] != rows))
      return 1;
    rows = s->dim[0];
  }
  return rows > 0 ? rows : 1;
}

static Status allocate_state(Train *t, Diag *d)
{
  if (!t->config.adam)
    return ST_OK;
  size_t total = 0;
  for (size_t i = 0; i < t->grad.n_trained; ++i) {
    size_t n = (size_t)shape_numel(&t->graph.tensors[t->grad.trained[i].param].shape);
    total += 2 * mem_align_up(n * sizeof(float)) / sizeof(float);
  }
  t->state = mem_zalloc(total * sizeof(float));
  if (!t->state)
    return diag_oom(d);
  float *p = t->state;
  for (size_t i = 0; i < t->grad.n_trained; ++i) {
    const Trained *w = &t->grad.trained[i];
    size_t n = (size_t)shape_numel(&t->graph.tensors[w->param].shape);
    size_t step = mem_align_up(n * sizeof(float)) / sizeof(float);
    t->graph.tensors[w->m].data = p;
    t->graph.tensors[w->v].data = p + step;
    p += 2 * step;
  }
  return ST_OK;
}

static Status describe_checkpoint(Train *t, Diag *d)
{
  const Graph *model = &t->model->graph;
  bool *state_op = NULL;
  TRY(checkpoint_entries(model, &t->arena, &t->entries, &t->n_entries, d));
  TRY(trainable_state_ops(model, &t->config.trainable, &t->arena, &state_op, d));
  // The operator whose weights an entry holds: its owner, or for the entry that keeps the tensor
  // the one user that owns no copy.
  for (size_t i = 0; i < t->n_entries; ++i) {
    CheckpointEntry *e = &t->entries[i];
    e->value = model->tensors[e->tensor].data;
    for (size_t n = 0; n < model->n_nodes && model->tensors[e->tensor].dtype == DT_F32; ++n) {
      const Node *node = &model->nodes[n];
      bool mine = e->owner < 0 || e->owner == node->model_op;
      for (size_t k = 0; mine && e->owner < 0 && k < t->n_entries; ++k)
        mine = t->entries[k].tensor != e->tensor || t->entries[k].owner != node->model_op;
      for (int k = 0; mine && k < node->n_in && k < 32; ++k)
        if (node->in[k] == e->tensor && (node->op->params >> k & 1))
          e->has_state = e->has_state || state_op[node->model_op];
    }
    if (t->config.trainable.patterns)
      e->has_state = false;
    for (size_t w = 0; w < t->grad.n_trained; ++w) {
      const Tensor *trained = &t->graph.tensors[t->grad.trained[w].param];
      if (t->home[t->grad.trained[w].param] != e->tensor)
        continue;
      // The copy itself: nothing is lost between two runs.
      e->value = trained->data;
      e->bytes = (size_t)shape_numel(&trained->shape) * sizeof(float);
      if (t->config.adam) {
        e->m = t->graph.tensors[t->grad.trained[w].m].data;
        e->v = t->graph.tensors[t->grad.trained[w].v].data;
        e->has_state = true;
      }
    }
  }
  return ST_OK;
}

static Status order_parameters(Train *t, Diag *d)
{
  size_t n = t->grad.n_trained;
  t->parameters = arena_array(&t->arena, n, sizeof *t->parameters);
  if (!t->parameters)
    return diag_oom(d);
  for (size_t i = 0; i < n; ++i) {
    size_t at = i;
    while (at > 0 && t->grad.trained[t->parameters[at - 1]].param > t->grad.trained[i].param) {
      t->parameters[at] = t->parameters[at - 1];
      --at;
    }
    t->parameters[at] = (int32_t)i;
  }
  return ST_OK;
}

static Status count_samples(Train *t, Diag *d)
{
  t->sample_rows = common_rows(&t->graph);
  if (t->config.batch_size % t->sample_rows != 0)
    return diag_fail(d, ST_ERROR,
                     "batch size %d is no multiple of the model's own batch, which is %d",
                     t->config.batch_size, t->sample_rows);
  t->samples = t->config.batch_size / t->sample_rows;
  return ST_OK;
}

// Labels have the shape the file gives an output: where the operators make another one, whoever
// prepared the labels would be wrong about it.
static Status check_outputs(const Graph *g, Diag *d)
{
  for (int i = 0; i < g->n_outputs; ++i) {
    const Tensor *t = &g->tensors[g->outputs[i]];
    bool same = !t->has_declared || t->declared.rank == t->shape.rank;
    for (int k = 0; same && t->has_declared && k < t->shape.rank; ++k)
      same = t->declared.dim[k] < 0 || t->declared.dim[k] == t->shape.dim[k];
    if (!same)
      return diag_fail(d, ST_ERROR, "output %d ('%s') has shape %s, the model file declares %s", i,
                       t->name, shape_text(&t->shape).text, shape_text(&t->declared).text);
  }
  return ST_OK;
}

static Status prepare(Train *t, const Shape *shapes, Diag *d)
{
  if (graph_copy(&t->model->graph, &t->arena, &t->graph) != ST_OK)
    return diag_oom(d);
  Graph *g = &t->graph;
  for (int i = 0; i < g->n_inputs; ++i) {
    Tensor *input = &g->tensors[g->inputs[i]];
    if (shapes)
      input->shape = shapes[i];
    input->batched = true;
  }
  TRY(count_samples(t, d));
  TRY(copies_make(g, &t->home, d));
  TRY(trainable_mark(g, &t->config.trainable, d));
  TRY(passes_run(g, d));
  if (!shapes)
    TRY(check_outputs(g, d));
  TRY(chain_pass(
    g, &(ChainRule){.min_bytes = CHAIN_TRAIN_BYTES, .samples = t->samples, .is_trained = true}, d));
  t->n_predict = g->n_nodes;
  GradOptions o = {.loss = t->config.loss,
                   .mean = t->config.mean,
                   .adam = t->config.adam,
                   .sample_rows = t->sample_rows};
  TRY(grad_pass(g, &o, &t->grad, d));
  TRY(allocate_state(t, d));
  TRY(order_parameters(t, d));
  t->bound = arena_array(&t->arena, g->n_tensors, sizeof *t->bound);
  t->losses = arena_array(&t->arena, (size_t)g->n_outputs, sizeof *t->losses);
  if (!t->bound || !t->losses)
    return diag_oom(d);
  TRY(describe_checkpoint(t, d));
  return train_ready(t, t->samples, d);
}

Status train_create(Model *model, const Shape *shapes, const TrainConfig *config, Pool *pool,
                    Train **out, Diag *d)
{
  *out = NULL;
  Train *t = mem_zalloc(sizeof *t);
  if (!t)
    return diag_oom(d);
  t->model = model;
  t->config = *config;
  t->pool = pool;
  Status s = prepare(t, shapes, d);
  if (s != ST_OK) {
    train_destroy(t);
    return s;
  }
  *out = t;
  return ST_OK;
}

void train_destroy(Train *t)
{
  if (!t)
    return;
  for (int i = 0; i < MAX_PROGRAMS; ++i)
    program_destroy(t->programs[i]);
  mem_free(t->block);
  mem_free(t->state);
  arena_drop(&t->arena);
  mem_free(t);
}

static Program *find_program(const Train *t, int32_t samples)
{
  for (int i = 0; i < MAX_PROGRAMS; ++i)
    if (t->programs[i] && program_samples(t->programs[i]) == samples)
      return t->programs[i];
  return NULL;
}

static Status gradients_to_keep(const Train *t, Arena *arena, int32_t **keep, Diag *d)
{
  *keep = arena_array(arena, t->grad.n_trained, sizeof **keep);
  if (!*keep)
    return diag_oom(d);
  for (size_t i = 0; i < t->grad.n_trained; ++i)
    (*keep)[i] = t->grad.trained[i].gradient;
  return ST_OK;
}

static Status build_program(Train *t, int32_t samples, Program **p, Diag *d)
{
  ProgramRequest r = {.graph = &t->graph,
                      .samples = samples,
                      .threads = pool_threads(t->pool),
                      .n_forward = t->grad.n_forward,
                      .keep = t->grad.losses,
                      .n_keep = (size_t)t->graph.n_outputs};
  Arena temporary = {0};
  Status s = ST_OK;
  if (t->config.keep_gradients) {
    int32_t *keep = NULL;
    s = gradients_to_keep(t, &temporary, &keep, d);
    r.keep_to_end = keep;
    r.n_keep_to_end = t->grad.n_trained;
  }
  if (s == ST_OK)
    s = program_build(&r, p, d);
  arena_drop(&temporary);
  return s;
}

Status train_ready(Train *t, int32_t samples, Diag *d)
{
  if (find_program(t, samples))
    return ST_OK;
  Program *p = NULL;
  TRY(build_program(t, samples, &p, d));
  if (t->config.memory_limit && program_bytes(p) > t->config.memory_limit) {
    size_t bytes = program_bytes(p);
    program_destroy(p);
    return diag_fail(d, ST_ERROR,
                     "a step of %d samples needs %zu bytes, the memory limit is %" PRIu64,
                     samples, bytes, t->config.memory_limit);
  }
  if (program_bytes(p) > t->block_bytes) {
    void *block = mem_alloc(program_bytes(p));
    if (!block) {
      size_t bytes = program_bytes(p);
      program_destroy(p);
      return diag_fail(d, ST_OOM, "out of memory: a step of %d samples needs %zu bytes", samples,
                       bytes);
    }
    mem_free(t->block);
    t->block = block;
    t->block_bytes = program_bytes(p);
    t->last = NULL; // gradients of the last step went with the old block
  }
  int slot = 0;
  if (t->programs[0]) {
    slot = 1 + t->next_program;
    t->next_program = (t->next_program + 1) % (MAX_PROGRAMS - 1);
  }
  if (t->last == t->programs[slot])
    t->last = NULL;
  program_destroy(t->programs[slot]);
  t->programs[slot] = p;
  return ST_OK;
}

// ---- running ----

static Hyper hyper_of(const Train *t)
{
  const TrainConfig *c = &t->config;
  // Powers in double, rounded to float; everything after that in float, as onert computes it.
  double steps = (double)t->step + 1;
  float c1 = (float)pow(c->beta1, steps), c2 = (float)pow(c->beta2, steps);
  return (Hyper){.learning_rate = c->learning_rate,
                 .alpha = (c->learning_rate * sqrtf(1 - c2)) / (1 - c1),
                 .beta1 = (float)c->beta1,
                 .beta2 = (float)c->beta2,
                 .epsilon = (float)c->epsilon};
}

static void bind(Train *t, const TrainStep *s)
{
  const Graph *g = &t->graph;
  for (int i = 0; i < g->n_inputs; ++i)
    t->bound[g->inputs[i]] = s->inputs[i];
  for (int i = 0; s->labels && i < g->n_outputs; ++i)
    t->bound[t->grad.labels[i]] = s->labels[i];
}

static void read_losses(Train *t, const Program *p, const ProgramRun *run)
{
  const Graph *g = &t->graph;
  for (int i = 0; i < g->n_outputs; ++i) {
    int32_t loss = t->grad.losses[i];
    int64_t rows = shape_numel(&g->tensors[loss].shape) * program_samples(p);
    const float *row = program_address(p, run, loss);
    long double total = 0;
    for (int64_t k = 0; k < rows; ++k)
      total += row[k];
    t->losses[i] = (float)(t->config.mean ? total / rows : total);
  }
}

void train_run(Train *t, const TrainStep *s)
{
  const Program *p = find_program(t, s->samples);
  const Graph *g = &t->graph;
  Hyper hyper = hyper_of(t);
  bind(t, s);
  ProgramRun run = {.block = t->block,
                    .inputs = (void *const *)t->bound,
                    .pool = t->pool,
                    .hyper = &hyper};
  program_run(p, &run, 0, s->labels ? t->grad.n_forward : t->n_predict);
  for (int i = 0; i < g->n_outputs; ++i)
    if (s->outputs && s->outputs[i]) {
      const Tensor *out = &g->tensors[g->outputs[i]];
      size_t bytes = train_sample_bytes(t, g->outputs[i]);
      size_t copies = out->batched ? 1 : (size_t)s->samples;
      size_t all = out->batched ? bytes * (size_t)s->samples : bytes;
      for (size_t k = 0; k < copies; ++k)
        memcpy((uint8_t *)s->outputs[i] + k * bytes, program_address(p, &run, g->outputs[i]), all);
    }
  if (s->labels)
    read_losses(t, p, &run);
  t->last = NULL;
  if (s->labels && s->update) {
    program_run(p, &run, t->grad.n_forward, g->n_nodes);
    ++t->step;
    t->last = p;
  }
}

// ---- asking ----

const Graph *train_graph(const Train *t)
{
  return &t->graph;
}

int32_t train_label(const Train *t, int32_t output)
{
  return t->grad.labels[output];
}

int32_t train_samples(const Train *t)
{
  return t->samples;
}

size_t train_memory(const Train *t)
{
  return t->block_bytes;
}

Shape train_batch_shape(const Train *t, int32_t tensor, int32_t samples)
{
  Shape s = t->graph.tensors[tensor].shape;
  if (s.rank > 0 && s.dim[0] == t->sample_rows) {
    s.dim[0] *= samples;
    return s;
  }
  if (s.rank == MAX_RANK)
    return s;
  memmove(&s.dim[1], &s.dim[0], sizeof(int32_t) * (size_t)s.rank);
  s.dim[0] = samples;
  ++s.rank;
  return s;
}

size_t train_sample_bytes(const Train *t, int32_t tensor)
{
  const Tensor *x = &t->graph.tensors[tensor];
  return (size_t)shape_numel(&x->shape) * dtype_bytes(x->dtype);
}

float train_loss(const Train *t, int32_t output)
{
  return t->losses[output];
}

void train_set_learning_rate(Train *t, float learning_rate)
{
  t->config.learning_rate = learning_rate;
}

size_t train_parameter_count(const Train *t)
{
  return t->grad.n_trained;
}

const Tensor *train_parameter(const Train *t, size_t i)
{
  return &t->graph.tensors[t->grad.trained[t->parameters[i]].param];
}

int32_t train_parameter_home(const Train *t, size_t i)
{
  return t->home[t->grad.trained[t->parameters[i]].param];
}

const float *train_gradient(const Train *t, size_t i)
{
  if (!t->last || !t->config.keep_gradients)
    return NULL;
  ProgramRun run = {.block = t->block, .inputs = (void *const *)t->bound};
  return program_address(t->last, &run, t->grad.trained[t->parameters[i]].gradient);
}

Status train_export_checkpoint(const Train *t, const char *path, Diag *d)
{
  return checkpoint_write(path, t->entries, t->n_entries, t->config.adam, t->step, d);
}

Status train_import_checkpoint(Train *t, const char *path, Diag *d)
{
  uint32_t step = 0;
  TRY(checkpoint_read(path, t->entries, t->n_entries, t->config.adam, &step, d));
  t->step = step;
  return ST_OK;
}
