// SPDX-License-Identifier: Apache-2.0
// Life of a session, its errors, and loading.
#include "api/session.h"

#include "base/env.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PATH_BYTES = 1024, MAX_BACKENDS_BYTES = 32 };

// ---- the frame of every call ----

static _Thread_local char thread_message[256];
// The session that last refused this thread because another thread is in it: its own text may be
// about anything, and is not this thread's to read.
static _Thread_local const nnfw_session *refused_by;

NNFW_STATUS thread_fail(Status status, const char *text)
{
  snprintf(thread_message, sizeof thread_message, "%s", text);
  return (NNFW_STATUS)status;
}

const char *thread_text(void)
{
  return thread_message;
}

Status session_begin(nnfw_session *s)
{
  if (!s)
    return (Status)thread_fail(ST_NULL, "session is NULL");
  if (atomic_flag_test_and_set_explicit(&s->busy, memory_order_acquire)) {
    refused_by = s;
    return (Status)thread_fail(ST_ERROR, "session is in use by another thread");
  }
  if (refused_by == s)
    refused_by = NULL;
  diag_clear(&s->diag);
  return ST_OK;
}

NNFW_STATUS session_end(nnfw_session *s, Status status)
{
  if (status != ST_OK)
    s->last = s->diag;
  atomic_flag_clear_explicit(&s->busy, memory_order_release);
  return (NNFW_STATUS)status;
}

static const char *state_name(State state)
{
  switch (state) {
  case INIT: return "no model is loaded";
  case LOADED: return "a model is loaded";
  case PREP: return "the model is prepared for inference";
  case RUNNING: return "an asynchronous run is on its way";
  case RAN: return "inference has run";
  case TPREP: return "the model is prepared for training";
  case TRAINED: return "training has begun";
  }
  return "unknown";
}

Status session_allows(nnfw_session *s, Function function)
{
  static const struct {
    const char *name;
    unsigned states;
  } table[] = {
#define ROW(function, states) {#function, states},
#include "api/state.def"
#undef ROW
  };
  if (table[function].states & s->state)
    return ST_OK;
  bool ours = strncmp(table[function].name, "onert_", 6) == 0;
  return diag_fail(&s->diag, ST_STATE, "%s%s is not allowed now: %s", ours ? "" : "nnfw_",
                   table[function].name, state_name(s->state));
}

Status session_given(nnfw_session *s, const void *pointer, const char *name)
{
  return pointer ? ST_OK : diag_fail(&s->diag, ST_NULL, "Invalid argument : %s is NULL", name);
}

Status session_fail(nnfw_session *s, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  Status status = diag_vfail(&s->diag, ST_ERROR, format, args);
  va_end(args);
  return status;
}

int session_n_inputs(const nnfw_session *s)
{
  return s->model->graph.n_inputs;
}

int session_n_outputs(const nnfw_session *s)
{
  return s->model->graph.n_outputs;
}

bool session_trains(const nnfw_session *s)
{
  return (s->state & (TPREP | TRAINED)) != 0;
}

const Shape *session_shapes(nnfw_session *s)
{
  for (int i = 0; i < session_n_inputs(s); ++i)
    if (s->reshaped[i])
      return s->shapes;
  return NULL;
}

Status session_pool(nnfw_session *s)
{
  if (s->pool)
    return ST_OK;
  int n = s->n_threads ? (int)s->n_threads : env_int(ENV_NUM_THREADS, 0);
  if (pool_create(n > 0 ? n : pool_default_threads(), &s->pool) != ST_OK)
    return diag_oom(&s->diag);
  return ST_OK;
}

// ---- create, close ----

NNFW_STATUS nnfw_create_session(nnfw_session **session)
{
  if (!session)
    return thread_fail(ST_NULL, "Invalid argument : session is NULL");
  *session = NULL;
  nnfw_session *s = mem_zalloc(sizeof *s);
  if (!s)
    return thread_fail(ST_OOM, "out of memory");
  s->state = INIT;
  atomic_flag_clear(&s->busy);
  s->options.struct_size = sizeof s->options;
  if (onert_train_options_init(&s->options) != NNFW_STATUS_NO_ERROR) {
    mem_free(s);
    return NNFW_STATUS_ERROR;
  }
  *session = s;
  return NNFW_STATUS_NO_ERROR;
}

static void forget_model(nnfw_session *s)
{
  mem_free(s->shapes);
  mem_free(s->reshaped);
  mem_free(s->inputs);
  mem_free(s->labels);
  mem_free(s->outputs);
  mem_free(s->in_pointers);
  mem_free(s->label_pointers);
  mem_free(s->out_pointers);
  s->shapes = NULL;
  s->reshaped = NULL;
  s->inputs = s->labels = s->outputs = NULL;
  s->in_pointers = s->label_pointers = NULL;
  s->out_pointers = NULL;
  model_destroy(s->model);
  s->model = NULL;
}

NNFW_STATUS nnfw_close_session(nnfw_session *session)
{
  if (!session)
    return NNFW_STATUS_NO_ERROR;
  train_destroy(session->train);
  predictor_destroy(session->predictor);
  pool_destroy(session->pool);
  forget_model(session);
  mem_free(session->backends);
  mem_free(session->workspace);
  mem_free(session->trainable);
  mem_free(session);
  return NNFW_STATUS_NO_ERROR;
}

// ---- errors ----

static NNFW_STATUS copy_message(const char *text, char *buffer, size_t length)
{
  size_t n = strlen(text);
  if (length < n + 1)
    return NNFW_STATUS_INSUFFICIENT_OUTPUT_SIZE;
  memcpy(buffer, text, n);
  memset(buffer + n, 0, length - n);
  return NNFW_STATUS_NO_ERROR;
}

NNFW_STATUS nnfw_get_last_error_message(nnfw_session *session, char *buffer, size_t length)
{
  if (!session || !buffer)
    return NNFW_STATUS_UNEXPECTED_NULL;
  return copy_message(refused_by == session ? thread_message : session->last.text, buffer, length);
}

NNFW_STATUS onert_get_thread_error_message(char *buffer, size_t length)
{
  return buffer ? copy_message(thread_text(), buffer, length) : NNFW_STATUS_UNEXPECTED_NULL;
}

// ---- loading ----

// Makes the per-operand tables and moves to LOADED; the model is dropped where memory is short.
static Status adopt(nnfw_session *s, Model *m)
{
  s->model = m;
  size_t n_in = (size_t)m->graph.n_inputs, n_out = (size_t)m->graph.n_outputs;
  s->shapes = mem_zalloc(n_in * sizeof *s->shapes);
  s->reshaped = mem_zalloc(n_in * sizeof *s->reshaped);
  s->inputs = mem_zalloc(n_in * sizeof *s->inputs);
  s->labels = mem_zalloc(n_out * sizeof *s->labels);
  s->outputs = mem_zalloc(n_out * sizeof *s->outputs);
  s->in_pointers = mem_zalloc(n_in * sizeof *s->in_pointers);
  s->label_pointers = mem_zalloc(n_out * sizeof *s->label_pointers);
  s->out_pointers = mem_zalloc(n_out * sizeof *s->out_pointers);
  if (!s->shapes || !s->reshaped || !s->inputs || !s->labels || !s->outputs || !s->in_pointers ||
      !s->label_pointers || !s->out_pointers) {
    forget_model(s);
    return diag_oom(&s->diag);
  }
  for (size_t i = 0; i < n_in; ++i)
    s->shapes[i] = m->graph.tensors[m->graph.inputs[i]].shape;
  if (m->train.present) {
    const TrainMeta *t = &m->train;
    s->info = (nnfw_train_info){.learning_rate = t->learning_rate,
                                .batch_size = (uint32_t)t->batch_size,
                                .opt = (NNFW_TRAIN_OPTIMIZER)t->optimizer};
    s->info.loss_info.loss = (NNFW_TRAIN_LOSS)t->loss;
    s->info.loss_info.reduction_type = (NNFW_TRAIN_LOSS_REDUCTION)t->reduction;
    s->info_from_model = true;
  }
  s->state = LOADED;
  return ST_OK;
}

static Status load_path(nnfw_session *s, const char *path)
{
  TRY(session_allows(s, FN_load_model_from_file));
  TRY(session_given(s, path, "path"));
  if (!memchr(path, '\0', MAX_PATH_BYTES))
    return session_fail(s, "Invalid argument : path is too long (at most %d bytes)",
                        MAX_PATH_BYTES - 1);
  Model *m = NULL;
  TRY(model_load_path(path, &m, &s->diag));
  return adopt(s, m);
}

NNFW_STATUS nnfw_load_model_from_file(nnfw_session *session, const char *path)
{
  API_CALL(session, load_path(session, path));
}

static Status load_buffer(nnfw_session *s, const uint8_t *buffer, size_t size)
{
  TRY(session_allows(s, FN_load_circle_from_buffer));
  TRY(session_given(s, buffer, "buffer"));
  if (size == 0)
    return session_fail(s, "Invalid argument : size is 0");
  uint8_t *copy = mem_alloc(size);
  if (!copy)
    return diag_oom(&s->diag);
  memcpy(copy, buffer, size);
  Model *m = NULL;
  TRY(model_load(copy, size, "buffer", &m, &s->diag));
  return adopt(s, m);
}

NNFW_STATUS nnfw_load_circle_from_buffer(nnfw_session *session, uint8_t *buffer, size_t size)
{
  API_CALL(session, load_buffer(session, buffer, size));
}

// ---- settings ----

static Status replace_text(nnfw_session *s, char **text, const char *value)
{
  size_t n = strlen(value) + 1;
  char *copy = mem_alloc(n);
  if (!copy)
    return diag_oom(&s->diag);
  memcpy(copy, value, n);
  mem_free(*text);
  *text = copy;
  return ST_OK;
}

static Status set_backends(nnfw_session *s, const char *backends)
{
  TRY(session_allows(s, FN_set_available_backends));
  TRY(session_given(s, backends, "backends"));
  if (!memchr(backends, '\0', MAX_BACKENDS_BYTES))
    return session_fail(s, "Invalid argument : backends is too long (at most %d bytes)",
                        MAX_BACKENDS_BYTES - 1);
  return replace_text(s, &s->backends, backends);
}

NNFW_STATUS nnfw_set_available_backends(nnfw_session *session, const char *backends)
{
  API_CALL(session, set_backends(session, backends));
}

static Status set_workspace(nnfw_session *s, const char *dir)
{
  TRY(session_given(s, dir, "dir"));
  TRY(session_allows(s, FN_set_workspace));
  return replace_text(s, &s->workspace, dir);
}

NNFW_STATUS nnfw_set_workspace(nnfw_session *session, const char *dir)
{
  API_CALL(session, set_workspace(session, dir));
}

static Status set_threads(nnfw_session *s, uint32_t n)
{
  TRY(session_allows(s, FN_onert_set_num_threads));
  if (n > 256)
    return session_fail(s, "Invalid argument : %u threads, at most 256 are supported", n);
  s->n_threads = n;
  return ST_OK;
}

NNFW_STATUS onert_set_num_threads(nnfw_session *session, uint32_t n_threads)
{
  API_CALL(session, set_threads(session, n_threads));
}
