// SPDX-License-Identifier: Apache-2.0
// Questions about the model: numbers, shapes, names; and setting input shapes.
#include "api/info.h"

#include "base/mem.h"
#include "nnfw/nnfw_version.h"

#include <string.h>

bool info_type(DType type, NNFW_TYPE *out)
{
  switch (type) {
  case DT_F32: *out = NNFW_TYPE_TENSOR_FLOAT32; return true;
  case DT_I32: *out = NNFW_TYPE_TENSOR_INT32; return true;
  case DT_U8: *out = NNFW_TYPE_TENSOR_QUANT8_ASYMM; return true;
  case DT_BOOL: *out = NNFW_TYPE_TENSOR_BOOL; return true;
  case DT_I64: *out = NNFW_TYPE_TENSOR_INT64; return true;
  case DT_I8: *out = NNFW_TYPE_TENSOR_QUANT8_ASYMM_SIGNED; return true;
  case DT_I16: *out = NNFW_TYPE_TENSOR_QUANT16_SYMM_SIGNED; return true;
  default: return false;
  }
}

size_t info_type_bytes(NNFW_TYPE type)
{
  static const size_t bytes[] = {4, 4, 1, 1, 1, 8, 1, 2};
  return (size_t)type < COUNT_OF(bytes) ? bytes[type] : 0;
}

Status info_fill(nnfw_session *s, const Tensor *t, const Shape *shape, nnfw_tensorinfo *info)
{
  NNFW_TYPE type;
  if (!info_type(t->dtype, &type))
    return session_fail(s, "tensor '%s' is %s, which nnfw_tensorinfo cannot express", t->name,
                        dtype_name(t->dtype));
  if (shape->rank > NNFW_MAX_RANK)
    return session_fail(s, "tensor '%s' has rank %d, nnfw_tensorinfo holds at most %d", t->name,
                        shape->rank, NNFW_MAX_RANK);
  info->dtype = type;
  info->rank = shape->rank;
  for (int i = 0; i < shape->rank; ++i)
    info->dims[i] = shape->dim[i];
  return ST_OK;
}

Status info_bytes(nnfw_session *s, const nnfw_tensorinfo *info, size_t *bytes)
{
  if (info->rank < 0 || info->rank > NNFW_MAX_RANK)
    return session_fail(s, "Unsupported rank : %d (0 to %d)", info->rank, NNFW_MAX_RANK);
  size_t product = info_type_bytes(info->dtype);
  if (product == 0)
    return session_fail(s, "tensor info has the unknown type %d", (int)info->dtype);
  for (int i = 0; i < info->rank; ++i) {
    if (info->dims[i] < 0)
      return session_fail(s, "dim must be positive integer but was %d", info->dims[i]);
    if (!mem_mul(product, (size_t)info->dims[i], &product))
      return session_fail(s, "tensor info describes more bytes than memory can hold");
  }
  *bytes = product;
  return ST_OK;
}

// ---- numbers ----

static Status input_size(nnfw_session *s, uint32_t *number)
{
  TRY(session_allows(s, FN_input_size));
  TRY(session_given(s, number, "number"));
  // While training, every output's label is an input more, as in onert.
  *number = (uint32_t)(session_n_inputs(s) + (session_trains(s) ? session_n_outputs(s) : 0));
  return ST_OK;
}

NNFW_STATUS nnfw_input_size(nnfw_session *session, uint32_t *number)
{
  API_CALL(session, input_size(session, number));
}

static Status output_size(nnfw_session *s, uint32_t *number)
{
  TRY(session_allows(s, FN_output_size));
  TRY(session_given(s, number, "number"));
  *number = (uint32_t)session_n_outputs(s);
  return ST_OK;
}

NNFW_STATUS nnfw_output_size(nnfw_session *session, uint32_t *number)
{
  API_CALL(session, output_size(session, number));
}

NNFW_STATUS nnfw_query_info_u32(nnfw_session *session, NNFW_INFO_ID id, uint32_t *val)
{
  (void)session;
  if (id != NNFW_INFO_ID_VERSION)
    return thread_fail(ST_ERROR, "nnfw_query_info_u32: unknown id");
  if (!val)
    return thread_fail(ST_ERROR, "nnfw_query_info_u32: val is NULL");
  *val = NNFW_VERSION;
  return NNFW_STATUS_NO_ERROR;
}

// ---- tensor infos ----

static Status check_index(nnfw_session *s, uint32_t index, int count, const char *what)
{
  return index < (uint32_t)count
           ? ST_OK
           : session_fail(s, "index is out of range: %s %u of %d", what, index, count);
}

// What a tensor looks like now: from the file, the caller's shape, or the prepared graph.
static Status tensorinfo(nnfw_session *s, int32_t tensor, const Shape *changed,
                         nnfw_tensorinfo *info)
{
  if (session_trains(s)) {
    const Graph *g = train_graph(s->train);
    Shape shape = train_batch_shape(s->train, tensor, train_samples(s->train));
    return info_fill(s, &g->tensors[tensor], &shape, info);
  }
  const Tensor *t = &s->model->graph.tensors[tensor];
  const Shape *shape = t->has_declared ? &t->declared : &t->shape;
  if (s->predictor)
    shape = &predictor_graph(s->predictor)->tensors[tensor].shape;
  return info_fill(s, t, changed ? changed : shape, info);
}

static Status input_tensorinfo(nnfw_session *s, uint32_t index, nnfw_tensorinfo *info)
{
  TRY(session_allows(s, FN_input_tensorinfo));
  TRY(session_given(s, info, "tensorinfo"));
  int n = session_n_inputs(s);
  bool trains = session_trains(s);
  TRY(check_index(s, index, trains ? n + session_n_outputs(s) : n, "input"));
  if (trains && index >= (uint32_t)n)
    return tensorinfo(s, train_label(s->train, (int32_t)index - n), NULL, info);
  return tensorinfo(s, s->model->graph.inputs[index],
                    s->reshaped[index] ? &s->shapes[index] : NULL, info);
}

NNFW_STATUS nnfw_input_tensorinfo(nnfw_session *session, uint32_t index,
                                  nnfw_tensorinfo *tensor_info)
{
  API_CALL(session, input_tensorinfo(session, index, tensor_info));
}

static Status output_tensorinfo(nnfw_session *s, uint32_t index, nnfw_tensorinfo *info)
{
  TRY(session_allows(s, FN_output_tensorinfo));
  TRY(session_given(s, info, "tensorinfo"));
  TRY(check_index(s, index, session_n_outputs(s), "output"));
  return tensorinfo(s, s->model->graph.outputs[index], NULL, info);
}

NNFW_STATUS nnfw_output_tensorinfo(nnfw_session *session, uint32_t index,
                                   nnfw_tensorinfo *tensor_info)
{
  API_CALL(session, output_tensorinfo(session, index, tensor_info));
}

static Status set_input_tensorinfo(nnfw_session *s, uint32_t index, const nnfw_tensorinfo *info)
{
  TRY(session_allows(s, FN_set_input_tensorinfo));
  TRY(session_given(s, info, "tensorinfo"));
  TRY(check_index(s, index, session_n_inputs(s), "input"));
  if (info->rank < 0 || info->rank > NNFW_MAX_RANK)
    return session_fail(s, "Unsupported rank : %d (0 to %d)", info->rank, NNFW_MAX_RANK);
  for (int i = 0; i < info->rank; ++i)
    if (info->dims[i] <= 0)
      return session_fail(s, "dim must be positive integer but was %d", info->dims[i]);
  Shape shape = shape_of(info->rank, info->dims);
  if (!s->reshaped[index] || !shape_equal(&shape, &s->shapes[index]))
    s->stale = true;
  s->shapes[index] = shape;
  s->reshaped[index] = true;
  return ST_OK;
}

NNFW_STATUS nnfw_set_input_tensorinfo(nnfw_session *session, uint32_t index,
                                      const nnfw_tensorinfo *tensor_info)
{
  API_CALL(session, set_input_tensorinfo(session, index, tensor_info));
}

// ---- names ----

static Status tensorindex(nnfw_session *s, Function function, const int32_t *list, int n,
                          const char *name, uint32_t *index, const char *what)
{
  TRY(session_allows(s, function));
  TRY(session_given(s, name, "tensorname"));
  TRY(session_given(s, index, "index"));
  if (!memchr(name, '\0', MAX_NAME_BYTES))
    return session_fail(s, "Invalid argument : tensorname is too long (at most %d bytes)",
                        MAX_NAME_BYTES - 1);
  for (int i = 0; i < n; ++i)
    if (strcmp(s->model->graph.tensors[list[i]].name, name) == 0) {
      *index = (uint32_t)i;
      return ST_OK;
    }
  return session_fail(s, "the model has no %s named '%s'", what, name);
}

static Status input_index(nnfw_session *s, const char *name, uint32_t *index)
{
  return tensorindex(s, FN_input_tensorindex, s->model ? s->model->graph.inputs : NULL,
                     s->model ? s->model->graph.n_inputs : 0, name, index, "input");
}

NNFW_STATUS nnfw_input_tensorindex(nnfw_session *session, const char *tensorname, uint32_t *index)
{
  API_CALL(session, input_index(session, tensorname, index));
}

static Status output_index(nnfw_session *s, const char *name, uint32_t *index)
{
  return tensorindex(s, FN_output_tensorindex, s->model ? s->model->graph.outputs : NULL,
                     s->model ? s->model->graph.n_outputs : 0, name, index, "output");
}

NNFW_STATUS nnfw_output_tensorindex(nnfw_session *session, const char *tensorname, uint32_t *index)
{
  API_CALL(session, output_index(session, tensorname, index));
}
