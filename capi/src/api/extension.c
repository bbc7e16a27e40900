// SPDX-License-Identifier: Apache-2.0
// The onert_ functions of onert_ext.h about training and logging.
#include "api/info.h"

#include "base/log.h"
#include "base/mem.h"

#include <string.h>

NNFW_STATUS onert_train_options_init(onert_train_options *options)
{
  if (!options)
    return thread_fail(ST_NULL, "Invalid argument : options is NULL");
  if (options->struct_size < sizeof *options)
    return thread_fail(ST_ERROR, "onert_train_options: struct_size is not set");
  uint32_t size = options->struct_size;
  *options = (onert_train_options){.struct_size = size,
                                   .adam_beta1 = 0.9,
                                   .adam_beta2 = 0.999,
                                   .adam_epsilon = 1e-7};
  return NNFW_STATUS_NO_ERROR;
}

static Status set_options(nnfw_session *s, const onert_train_options *o)
{
  TRY(session_given(s, o, "options"));
  TRY(session_allows(s, FN_onert_train_set_options));
  if (o->struct_size < sizeof *o)
    return session_fail(s, "onert_train_options: struct_size is %u, wanted %zu", o->struct_size,
                        sizeof *o);
  if (!(o->adam_beta1 >= 0 && o->adam_beta1 < 1))
    return session_fail(s, "adam_beta1 is %g, wanted 0 <= beta1 < 1", o->adam_beta1);
  if (!(o->adam_beta2 >= 0 && o->adam_beta2 < 1))
    return session_fail(s, "adam_beta2 is %g, wanted 0 <= beta2 < 1", o->adam_beta2);
  if (!(o->adam_epsilon > 0 && (float)o->adam_epsilon > 0 && o->adam_epsilon <= 1e30))
    return session_fail(s, "adam_epsilon is %g, wanted a finite float32 above 0", o->adam_epsilon);
  char *patterns = NULL;
  if (o->trainable) {
    size_t n = strlen(o->trainable) + 1;
    patterns = mem_alloc(n);
    if (!patterns)
      return diag_oom(&s->diag);
    memcpy(patterns, o->trainable, n);
  }
  mem_free(s->trainable);
  s->trainable = patterns;
  s->options = *o;
  s->options.trainable = patterns;
  return ST_OK;
}

NNFW_STATUS onert_train_set_options(nnfw_session *session, const onert_train_options *options)
{
  API_CALL(session, set_options(session, options));
}

static Status set_memory_limit(nnfw_session *s, uint64_t bytes)
{
  TRY(session_allows(s, FN_onert_train_set_memory_limit));
  s->memory_limit = bytes;
  return ST_OK;
}

NNFW_STATUS onert_train_set_memory_limit(nnfw_session *session, uint64_t bytes)
{
  API_CALL(session, set_memory_limit(session, bytes));
}

static Status get_memory(nnfw_session *s, uint64_t *bytes)
{
  TRY(session_given(s, bytes, "bytes"));
  TRY(session_allows(s, FN_onert_train_get_memory));
  *bytes = train_memory(s->train);
  return ST_OK;
}

NNFW_STATUS onert_train_get_memory(nnfw_session *session, uint64_t *bytes)
{
  API_CALL(session, get_memory(session, bytes));
}

static Status set_learning_rate(nnfw_session *s, float rate)
{
  TRY(session_allows(s, FN_onert_train_set_learning_rate));
  if (!(rate > 0) || rate - rate != 0)
    return session_fail(s, "learning rate is %g, wanted a finite number above 0", (double)rate);
  s->info.learning_rate = rate;
  train_set_learning_rate(s->train, rate);
  return ST_OK;
}

NNFW_STATUS onert_train_set_learning_rate(nnfw_session *session, float learning_rate)
{
  API_CALL(session, set_learning_rate(session, learning_rate));
}

static Status set_batch(nnfw_session *s, uint32_t rows)
{
  TRY(session_allows(s, FN_onert_train_set_batch));
  int32_t full = train_samples(s->train);
  uint32_t unit = s->info.batch_size / (uint32_t)full;
  if (rows == 0 || rows > s->info.batch_size || rows % unit != 0)
    return session_fail(s, "a step of %u samples: wanted 1 to the batch size %u, in multiples of "
                           "%u", rows, s->info.batch_size, unit);
  TRY(train_ready(s->train, (int32_t)(rows / unit), &s->diag));
  s->step_samples = (int32_t)(rows / unit);
  return ST_OK;
}

NNFW_STATUS onert_train_set_batch(nnfw_session *session, uint32_t n_samples)
{
  API_CALL(session, set_batch(session, n_samples));
}

// ---- parameters ----

static Status parameter_count(nnfw_session *s, uint32_t *count)
{
  TRY(session_given(s, count, "count"));
  TRY(session_allows(s, FN_onert_train_parameter_count));
  *count = (uint32_t)train_parameter_count(s->train);
  return ST_OK;
}

NNFW_STATUS onert_train_parameter_count(nnfw_session *session, uint32_t *count)
{
  API_CALL(session, parameter_count(session, count));
}

static Status find(nnfw_session *s, Function function, uint32_t index, const Tensor **t)
{
  TRY(session_allows(s, function));
  if (index >= train_parameter_count(s->train))
    return session_fail(s, "index is out of range: parameter %u of %zu", index,
                        train_parameter_count(s->train));
  *t = train_parameter(s->train, index);
  return ST_OK;
}

static Status parameter_info(nnfw_session *s, uint32_t index, onert_parameter_info *info)
{
  TRY(session_given(s, info, "info"));
  if (info->struct_size < sizeof *info)
    return session_fail(s, "onert_parameter_info: struct_size is %u, wanted %zu",
                        info->struct_size, sizeof *info);
  const Tensor *t = NULL;
  TRY(find(s, FN_onert_train_parameter_info, index, &t));
  TRY(info_fill(s, t, &t->shape, &info->tensor));
  info->tensor_index = (uint32_t)t->model_tensor;
  info->name = t->name;
  return ST_OK;
}

NNFW_STATUS onert_train_parameter_info(nnfw_session *session, uint32_t index,
                                       onert_parameter_info *info)
{
  API_CALL(session, parameter_info(session, index, info));
}

static Status check_length(nnfw_session *s, const Tensor *t, size_t length)
{
  size_t bytes = (size_t)shape_numel(&t->shape) * sizeof(float);
  return length == bytes ? ST_OK
                         : session_fail(s, "parameter '%s' has %zu bytes, the buffer %zu", t->name,
                                        bytes, length);
}

static Status get_parameter(nnfw_session *s, uint32_t index, float *buffer, size_t length)
{
  const Tensor *t = NULL;
  TRY(session_given(s, buffer, "buffer"));
  TRY(find(s, FN_onert_train_get_parameter, index, &t));
  TRY(check_length(s, t, length));
  memcpy(buffer, t->data, length);
  return ST_OK;
}

NNFW_STATUS onert_train_get_parameter(nnfw_session *session, uint32_t index, float *buffer,
                                      size_t length)
{
  API_CALL(session, get_parameter(session, index, buffer, length));
}

static Status set_parameter(nnfw_session *s, uint32_t index, const float *buffer, size_t length)
{
  const Tensor *t = NULL;
  TRY(session_given(s, buffer, "buffer"));
  TRY(find(s, FN_onert_train_set_parameter, index, &t));
  TRY(check_length(s, t, length));
  memcpy(t->data, buffer, length);
  return ST_OK;
}

NNFW_STATUS onert_train_set_parameter(nnfw_session *session, uint32_t index, const float *buffer,
                                      size_t length)
{
  API_CALL(session, set_parameter(session, index, buffer, length));
}

static Status get_gradient(nnfw_session *s, uint32_t index, float *buffer, size_t length)
{
  const Tensor *t = NULL;
  TRY(session_given(s, buffer, "buffer"));
  TRY(find(s, FN_onert_train_get_gradient, index, &t));
  TRY(check_length(s, t, length));
  if (!s->options.keep_gradients)
    return session_fail(s, "gradients are not kept: set keep_gradients in onert_train_options");
  const float *gradient = train_gradient(s->train, index);
  if (!gradient)
    return session_fail(s, "there is no gradient: the last run did not update weights");
  memcpy(buffer, gradient, length);
  return ST_OK;
}

NNFW_STATUS onert_train_get_gradient(nnfw_session *session, uint32_t index, float *buffer,
                                     size_t length)
{
  API_CALL(session, get_gradient(session, index, buffer, length));
}

// ---- logging ----

static struct {
  onert_log_callback callback;
  void *user;
} logger;

static void pass_on(LogLevel level, const char *line, void *user)
{
  (void)user;
  logger.callback((int32_t)level, line, logger.user);
}

NNFW_STATUS onert_set_log_callback(onert_log_callback callback, void *user)
{
  log_set(NULL, NULL);
  logger.callback = callback;
  logger.user = user;
  if (callback)
    log_set(pass_on, NULL);
  return NNFW_STATUS_NO_ERROR;
}
