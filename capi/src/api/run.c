// SPDX-License-Identifier: Apache-2.0
// Inference: preparing, binding buffers, running; also on a session that trains, with the weights
// as they are then.
#include "api/session.h"

#include "base/mem.h"

#include <string.h>

// The one engine of this library answers to every backend name that onert has for the CPU.
static bool known_backend(const char *name, size_t length)
{
  static const char *const names[] = {"cpu", "ruy", "train", "builtin", "xnnpack"};
  for (size_t i = 0; i < COUNT_OF(names); ++i)
    if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
      return true;
  return false;
}

static Status check_backends(nnfw_session *s)
{
  if (!s->backends)
    return ST_OK;
  for (const char *p = s->backends; *p;) {
    size_t n = strcspn(p, ";");
    if (known_backend(p, n))
      return ST_OK;
    p += n + (p[n] == ';');
  }
  return session_fail(s, "No loaded backends available. None of '%s' is known", s->backends);
}

static Status make_predictor(nnfw_session *s)
{
  Predictor *p = NULL;
  TRY(session_pool(s));
  TRY(predictor_create(&s->model->graph, session_shapes(s), s->pool, &p, &s->diag));
  predictor_destroy(s->predictor);
  s->predictor = p;
  s->stale = false;
  return ST_OK;
}

static Status prepare(nnfw_session *s)
{
  TRY(session_allows(s, FN_prepare));
  TRY(check_backends(s));
  TRY(make_predictor(s));
  s->state = PREP;
  return ST_OK;
}

NNFW_STATUS nnfw_prepare(nnfw_session *session)
{
  API_CALL(session, prepare(session));
}

static Status bind(nnfw_session *s, Function function, Binding *list, int n, uint32_t index,
                   void *buffer, size_t length)
{
  TRY(session_allows(s, function));
  if (!buffer && length)
    return session_fail(s, "buffer is NULL but the length is not 0");
  if (index >= (uint32_t)n)
    return session_fail(s, "index is out of range: %u of %d", index, n);
  list[index] = (Binding){.bytes = buffer, .length = length, .bound = true};
  return ST_OK;
}

static Status set_input(nnfw_session *s, uint32_t index, const void *buffer, size_t length)
{
  return bind(s, FN_set_input, s->inputs, s->model ? session_n_inputs(s) : 0, index,
              (void *)(uintptr_t)buffer, length);
}

NNFW_STATUS nnfw_set_input(nnfw_session *session, uint32_t index, NNFW_TYPE type,
                           const void *buffer, size_t length)
{
  (void)type; // the tensor's own type holds, as in onert
  API_CALL(session, set_input(session, index, buffer, length));
}

static Status set_output(nnfw_session *s, Function function, uint32_t index, void *buffer,
                         size_t length)
{
  return bind(s, function, s->outputs, s->model ? session_n_outputs(s) : 0, index, buffer, length);
}

NNFW_STATUS nnfw_set_output(nnfw_session *session, uint32_t index, NNFW_TYPE type, void *buffer,
                            size_t length)
{
  (void)type;
  API_CALL(session, set_output(session, FN_set_output, index, buffer, length));
}

NNFW_STATUS nnfw_train_set_output(nnfw_session *session, uint32_t index, NNFW_TYPE type,
                                  void *buffer, size_t length)
{
  (void)type;
  API_CALL(session, set_output(session, FN_train_set_output, index, buffer, length));
}

// A binding must hold `need` bytes, at an address its elements may have.
static Status check_buffer(nnfw_session *s, const Binding *b, const Tensor *t, size_t need,
                           const char *what, int index)
{
  if (b->length < need)
    return session_fail(s, "Too small %s buffer length: %s %d ('%s') needs %zu bytes, got %zu",
                        what, what, index, t->name, need, b->length);
  if ((uintptr_t)b->bytes % dtype_bytes(t->dtype) != 0)
    return session_fail(s, "the buffer of %s %d ('%s') is not aligned to its %zu-byte elements",
                        what, index, t->name, dtype_bytes(t->dtype));
  return ST_OK;
}

// Buffers of inputs and outputs against what one run needs; `samples` is 1 for inference.
static Status check_buffers(nnfw_session *s, const Graph *g, size_t samples)
{
  for (int i = 0; i < g->n_inputs; ++i) {
    const Tensor *t = &g->tensors[g->inputs[i]];
    size_t bytes = (size_t)shape_numel(&t->shape) * dtype_bytes(t->dtype) * samples;
    TRY(check_buffer(s, &s->inputs[i], t, bytes, "input", i));
    s->in_pointers[i] = s->inputs[i].bytes;
  }
  for (int i = 0; i < g->n_outputs; ++i) {
    const Tensor *t = &g->tensors[g->outputs[i]];
    size_t bytes = (size_t)shape_numel(&t->shape) * dtype_bytes(t->dtype) * samples;
    TRY(check_buffer(s, &s->outputs[i], t, bytes, "output", i));
    s->out_pointers[i] = s->outputs[i].bytes;
  }
  return ST_OK;
}

static Status run_trained(nnfw_session *s)
{
  int32_t samples = s->step_samples ? s->step_samples : train_samples(s->train);
  TRY(check_buffers(s, train_graph(s->train), (size_t)samples));
  TRY(train_ready(s->train, samples, &s->diag));
  train_run(s->train, &(TrainStep){.samples = samples,
                                   .inputs = s->in_pointers,
                                   .outputs = s->out_pointers});
  return ST_OK;
}

static Status run(nnfw_session *s)
{
  TRY(session_allows(s, FN_run));
  if (session_trains(s))
    return run_trained(s);
  if (s->stale)
    TRY(make_predictor(s));
  TRY(check_buffers(s, predictor_graph(s->predictor), 1));
  predictor_run(s->predictor, s->in_pointers, s->out_pointers);
  s->state = RAN;
  return ST_OK;
}

NNFW_STATUS nnfw_run(nnfw_session *session)
{
  API_CALL(session, run(session));
}
