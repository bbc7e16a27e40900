// SPDX-License-Identifier: Apache-2.0
// The training group of the API.
#include "api/info.h"
#include "ops/stored.h"

#include <string.h>

// ---- information ----

static Status get_traininfo(nnfw_session *s, nnfw_train_info *info)
{
  TRY(session_allows(s, FN_train_get_traininfo));
  TRY(session_given(s, info, "info"));
  *info = s->info;
  const TrainMeta *meta = &s->model->train;
  int32_t n_ops = s->model->graph.n_model_ops;
  if (s->info_from_model) {
    // The metadata lists operators; the struct can only say "the last N".
    int32_t n = 0;
    while (n < n_ops) {
      TrainableChoice c = {.ops = meta->trainable_ops, .n_ops = (size_t)meta->n_trainable_ops};
      if (!meta->n_trainable_ops || !trainable_has_op(&c, n_ops, n_ops - 1 - n))
        break;
      ++n;
    }
    int32_t distinct = 0;
    for (int32_t i = 0; i < n_ops; ++i) {
      TrainableChoice c = {.ops = meta->trainable_ops, .n_ops = (size_t)meta->n_trainable_ops};
      distinct += meta->n_trainable_ops && trainable_has_op(&c, n_ops, i);
    }
    if (distinct != n) {
      info->num_of_trainable_ops = NNFW_TRAIN_TRAINABLE_INCORRECT_STATE;
      return diag_fail(&s->diag, ST_STATE,
                       "the model's training information trains operators that are not the last "
                       "ones; num_of_trainable_ops cannot express that");
    }
    info->num_of_trainable_ops = n == n_ops && n > 0 ? NNFW_TRAIN_TRAINABLE_ALL : n;
  } else if (info->num_of_trainable_ops == n_ops && n_ops > 0) {
    info->num_of_trainable_ops = NNFW_TRAIN_TRAINABLE_ALL;
  }
  return ST_OK;
}

NNFW_STATUS nnfw_train_get_traininfo(nnfw_session *session, nnfw_train_info *info)
{
  API_CALL(session, get_traininfo(session, info));
}

static Status set_traininfo(nnfw_session *s, const nnfw_train_info *info)
{
  TRY(session_allows(s, FN_train_set_traininfo));
  TRY(session_given(s, info, "info"));
  if (info->loss_info.loss != NNFW_TRAIN_LOSS_MEAN_SQUARED_ERROR &&
      info->loss_info.loss != NNFW_TRAIN_LOSS_CATEGORICAL_CROSSENTROPY)
    return session_fail(s, "not supported loss type: %d", (int)info->loss_info.loss);
  if (info->loss_info.reduction_type != NNFW_TRAIN_LOSS_REDUCTION_SUM_OVER_BATCH_SIZE &&
      info->loss_info.reduction_type != NNFW_TRAIN_LOSS_REDUCTION_SUM)
    return session_fail(s, "not supported loss reduction type: %d",
                        (int)info->loss_info.reduction_type);
  if (info->opt != NNFW_TRAIN_OPTIMIZER_SGD && info->opt != NNFW_TRAIN_OPTIMIZER_ADAM)
    return session_fail(s, "not supported optimizer type: %d", (int)info->opt);
  int32_t n_ops = s->model->graph.n_model_ops;
  if (info->num_of_trainable_ops < -1 || info->num_of_trainable_ops > n_ops)
    return session_fail(s, "num_of_trainable_ops is %d, wanted -1 (all) to %d (the model's "
                           "operators)", info->num_of_trainable_ops, n_ops);
  s->info = *info;
  s->info_from_model = false;
  return ST_OK;
}

NNFW_STATUS nnfw_train_set_traininfo(nnfw_session *session, const nnfw_train_info *info)
{
  API_CALL(session, set_traininfo(session, info));
}

// ---- preparing ----

static Status check_info(nnfw_session *s)
{
  const nnfw_train_info *i = &s->info;
  if (i->batch_size == 0 || i->batch_size > INT32_MAX)
    return session_fail(s, "training info is not valid: batch size is %u", i->batch_size);
  if (!(i->learning_rate > 0) || i->learning_rate - i->learning_rate != 0)
    return session_fail(s, "training info is not valid: learning rate is %g, wanted a finite "
                           "number above 0", (double)i->learning_rate);
  if (i->opt == NNFW_TRAIN_OPTIMIZER_UNDEFINED)
    return session_fail(s, "training info is not valid: no optimizer is set");
  if (i->loss_info.loss == NNFW_TRAIN_LOSS_UNDEFINED)
    return session_fail(s, "training info is not valid: no loss is set");
  if (i->loss_info.reduction_type == NNFW_TRAIN_LOSS_REDUCTION_UNDEFINED)
    return session_fail(s, "training info is not valid: no loss reduction is set");
  return ST_OK;
}

static Status train_prepare(nnfw_session *s)
{
  TRY(session_allows(s, FN_train_prepare));
  TRY(check_info(s));
  const nnfw_train_info *i = &s->info;
  TrainConfig c = {
    .learning_rate = i->learning_rate,
    .batch_size = (int32_t)i->batch_size,
    .loss = i->loss_info.loss == NNFW_TRAIN_LOSS_MEAN_SQUARED_ERROR ? LOSS_KIND_MSE
                                                                    : LOSS_KIND_CCE,
    .mean = i->loss_info.reduction_type == NNFW_TRAIN_LOSS_REDUCTION_SUM_OVER_BATCH_SIZE,
    .adam = i->opt == NNFW_TRAIN_OPTIMIZER_ADAM,
    .beta1 = s->options.adam_beta1,
    .beta2 = s->options.adam_beta2,
    .epsilon = s->options.adam_epsilon,
    .keep_gradients = s->options.keep_gradients != 0,
    .memory_limit = s->memory_limit,
    .trainable = {.last_n = i->num_of_trainable_ops, .patterns = s->trainable},
  };
  static const int32_t none;
  if (s->info_from_model) {
    const TrainMeta *meta = &s->model->train;
    c.trainable.ops = meta->n_trainable_ops ? meta->trainable_ops : &none;
    c.trainable.n_ops = (size_t)meta->n_trainable_ops;
  }
  TRY(session_pool(s));
  TRY(train_create(s->model, session_shapes(s), &c, s->pool, &s->train, &s->diag));
  s->state = TPREP;
  return ST_OK;
}

NNFW_STATUS nnfw_train_prepare(nnfw_session *session)
{
  API_CALL(session, train_prepare(session));
}

// ---- binding ----

// Stores a buffer of a step. With an info its size is known: the full batch, or fewer samples where
// the leading dimension says so.
static Status bind(nnfw_session *s, Binding *b, int32_t tensor, const void *buffer,
                   const nnfw_tensorinfo *info)
{
  const Tensor *t = &train_graph(s->train)->tensors[tensor];
  size_t sample = train_sample_bytes(s->train, tensor);
  int32_t full = train_samples(s->train), samples = 0;
  if (info) {
    size_t bytes = 0;
    TRY(info_bytes(s, info, &bytes));
    Shape wanted = train_batch_shape(s->train, tensor, full);
    Shape given = shape_of(info->rank, info->dims);
    if (bytes == sample * (size_t)full) {
      samples = full;
    } else {
      int32_t rows = wanted.dim[0] / full; // of one sample in the leading dimension
      bool whole = given.rank > 0 && given.dim[0] > 0 && given.dim[0] % rows == 0 &&
                   given.dim[0] < wanted.dim[0] &&
                   bytes == sample * (size_t)(given.dim[0] / rows);
      if (!whole)
        return session_fail(s, "tensor info for '%s' has shape %s of %zu bytes, wanted %s or a "
                               "smaller leading dimension (%zu bytes a sample)",
                            t->name, shape_text(&given).text, bytes, shape_text(&wanted).text,
                            sample);
      samples = given.dim[0] / rows;
    }
  }
  if ((uintptr_t)buffer % dtype_bytes(t->dtype) != 0)
    return session_fail(s, "the buffer for '%s' is not aligned to its %zu-byte elements", t->name,
                        dtype_bytes(t->dtype));
  if (samples)
    TRY(train_ready(s->train, samples, &s->diag));
  // Bound for training: it is as long as the info says, or as a full batch.
  *b = (Binding){.bytes = (void *)(uintptr_t)buffer,
                 .length = sample * (size_t)(samples ? samples : full),
                 .bound = true,
                 .samples = samples};
  return ST_OK;
}

static Status set_expected(nnfw_session *s, uint32_t index, const void *expected,
                           const nnfw_tensorinfo *info)
{
  TRY(session_given(s, expected, "expected"));
  TRY(session_allows(s, FN_train_set_expected));
  if (index >= (uint32_t)session_n_outputs(s))
    return session_fail(s, "index is out of range: expected %u of %d", index,
                        session_n_outputs(s));
  return bind(s, &s->labels[index], train_label(s->train, (int32_t)index), expected, info);
}

NNFW_STATUS nnfw_train_set_expected(nnfw_session *session, uint32_t index, const void *expected,
                                    const nnfw_tensorinfo *expected_info)
{
  API_CALL(session, set_expected(session, index, expected, expected_info));
}

static Status set_input(nnfw_session *s, uint32_t index, const void *input,
                        const nnfw_tensorinfo *info)
{
  TRY(session_given(s, input, "input"));
  TRY(session_allows(s, FN_train_set_input));
  uint32_t n = (uint32_t)session_n_inputs(s);
  if (index >= n) { // the slots behind the inputs are the labels
    if (index - n >= (uint32_t)session_n_outputs(s))
      return session_fail(s, "index is out of range: input %u of %u", index, n);
    return set_expected(s, index - n, input, info);
  }
  return bind(s, &s->inputs[index], s->model->graph.inputs[index], input, info);
}

NNFW_STATUS nnfw_train_set_input(nnfw_session *session, uint32_t index, const void *input,
                                 const nnfw_tensorinfo *input_info)
{
  API_CALL(session, set_input(session, index, input, input_info));
}

// ---- steps ----

// All buffers whose info stated a number of samples must agree on it.
static Status agree(nnfw_session *s, const Binding *list, int n, const char *what, int32_t *samples)
{
  for (int i = 0; i < n; ++i) {
    if (!list[i].bound || !list[i].bytes)
      return session_fail(s, "%s %d's buffer is not set", what, i);
    if (list[i].samples && *samples && list[i].samples != *samples)
      return session_fail(s, "%s %d has %d samples, other buffers of this step have %d", what, i,
                          list[i].samples, *samples);
    if (list[i].samples)
      *samples = list[i].samples;
  }
  return ST_OK;
}

static Status check_lengths(nnfw_session *s, const Binding *list, int n, int32_t samples,
                            bool labels)
{
  for (int i = 0; i < n; ++i) {
    int32_t tensor = labels ? train_label(s->train, i) : s->model->graph.inputs[i];
    size_t need = train_sample_bytes(s->train, tensor) * (size_t)samples;
    if (list[i].length < need)
      return session_fail(s, "Too small %s buffer length: %s %d needs %zu bytes, got %zu",
                          labels ? "expected" : "input", labels ? "expected" : "input", i, need,
                          list[i].length);
  }
  return ST_OK;
}

static Status check_outputs(nnfw_session *s, int32_t samples, bool required)
{
  for (int i = 0; i < session_n_outputs(s); ++i) {
    size_t need = train_sample_bytes(s->train, s->model->graph.outputs[i]) * (size_t)samples;
    const Binding *b = &s->outputs[i];
    bool wanted = b->bytes != NULL;
    if ((required || wanted) && b->length < need)
      return session_fail(s, "Too small output buffer length: output %d needs %zu bytes, got %zu",
                          i, need, b->length);
    s->out_pointers[i] = b->bytes;
  }
  return ST_OK;
}

static Status train(nnfw_session *s, bool update)
{
  TRY(session_allows(s, FN_train));
  int n_in = session_n_inputs(s), n_out = session_n_outputs(s);
  int32_t samples = s->step_samples;
  TRY(agree(s, s->inputs, n_in, "Input", &samples));
  TRY(agree(s, s->labels, n_out, "Expected", &samples));
  if (!samples)
    samples = train_samples(s->train);
  TRY(check_lengths(s, s->inputs, n_in, samples, false));
  TRY(check_lengths(s, s->labels, n_out, samples, true));
  TRY(check_outputs(s, samples, !update));
  TRY(train_ready(s->train, samples, &s->diag));
  for (int i = 0; i < n_in; ++i)
    s->in_pointers[i] = s->inputs[i].bytes;
  for (int i = 0; i < n_out; ++i)
    s->label_pointers[i] = s->labels[i].bytes;
  train_run(s->train, &(TrainStep){.samples = samples,
                                   .inputs = s->in_pointers,
                                   .labels = s->label_pointers,
                                   .outputs = s->out_pointers,
                                   .update = update});
  s->state = TRAINED;
  return ST_OK;
}

NNFW_STATUS nnfw_train(nnfw_session *session, bool update_weights)
{
  API_CALL(session, train(session, update_weights));
}

static Status get_loss(nnfw_session *s, uint32_t index, float *loss)
{
  TRY(session_given(s, loss, "loss"));
  TRY(session_allows(s, FN_train_get_loss));
  if (index >= (uint32_t)session_n_outputs(s))
    return session_fail(s, "index is out of range: loss %u of %d", index, session_n_outputs(s));
  *loss = train_loss(s->train, (int32_t)index);
  return ST_OK;
}

NNFW_STATUS nnfw_train_get_loss(nnfw_session *session, uint32_t index, float *loss)
{
  API_CALL(session, get_loss(session, index, loss));
}

// ---- tensor infos of a step ----

static Status step_tensorinfo(nnfw_session *s, Function function, bool label, uint32_t index,
                              nnfw_tensorinfo *info)
{
  TRY(session_allows(s, function));
  TRY(session_given(s, info, "info"));
  int n = label ? session_n_outputs(s) : session_n_inputs(s);
  if (index >= (uint32_t)n)
    return session_fail(s, "index is out of range: %u of %d", index, n);
  int32_t tensor =
    label ? train_label(s->train, (int32_t)index) : s->model->graph.inputs[index];
  Shape shape = train_batch_shape(s->train, tensor, train_samples(s->train));
  return info_fill(s, &train_graph(s->train)->tensors[tensor], &shape, info);
}

NNFW_STATUS nnfw_train_input_tensorinfo(nnfw_session *session, uint32_t index,
                                        nnfw_tensorinfo *info)
{
  API_CALL(session, step_tensorinfo(session, FN_train_input_tensorinfo, false, index, info));
}

NNFW_STATUS nnfw_train_expected_tensorinfo(nnfw_session *session, uint32_t index,
                                           nnfw_tensorinfo *info)
{
  API_CALL(session, step_tensorinfo(session, FN_train_expected_tensorinfo, true, index, info));
}

// ---- files ----

// The bytes of trained parameter i as the file stores them.
static Status stored_value(nnfw_session *s, size_t i, Arena *arena, const void **value)
{
  const Tensor *home = &s->model->graph.tensors[train_parameter_home(s->train, i)];
  const float *real = train_parameter(s->train, i)->data;
  *value = real;
  if (home->dtype == DT_F32)
    return ST_OK;
  void *stored = arena_alloc(arena, (size_t)shape_numel(&home->shape) * dtype_bytes(home->dtype));
  if (!stored)
    return diag_oom(&s->diag);
  stored_from_real(home, real, stored);
  *value = stored;
  return ST_OK;
}

static Status export_model(nnfw_session *s, Function function, const char *path,
                           const TrainMeta *meta)
{
  TRY(session_given(s, path, "path"));
  TRY(session_allows(s, function));
  const Graph *g = &s->model->graph;
  Arena arena = {0};
  const void **values = arena_array(&arena, (size_t)g->n_model_tensors, sizeof *values);
  Status status = values ? ST_OK : diag_oom(&s->diag);
  if (status == ST_OK) {
    for (size_t i = 0; status == ST_OK && i < train_parameter_count(s->train); ++i)
      status = stored_value(s, i, &arena, &values[train_parameter_home(s->train, i)]);
  }
  if (status == ST_OK)
    status = model_save(s->model, values, meta, path, &s->diag);
  arena_drop(&arena);
  return status;
}

NNFW_STATUS nnfw_train_export_circle(nnfw_session *session, const char *path)
{
  API_CALL(session, export_model(session, FN_train_export_circle, path, NULL));
}

static Status export_plus(nnfw_session *s, const char *path)
{
  TRY(session_given(s, path, "path"));
  TRY(session_allows(s, FN_train_export_circleplus));
  const Graph *g = &s->model->graph;
  Arena arena = {0};
  TrainMeta meta = s->model->train;
  int32_t *ops = arena_array(&arena, (size_t)g->n_model_ops, sizeof *ops);
  if (!ops)
    return diag_oom(&s->diag);
  meta.present = true;
  meta.learning_rate = s->info.learning_rate;
  meta.has_adam = s->info.opt == NNFW_TRAIN_OPTIMIZER_ADAM;
  meta.beta1 = (float)s->options.adam_beta1;
  meta.beta2 = (float)s->options.adam_beta2;
  meta.epsilon = (float)s->options.adam_epsilon;
  meta.loss = (int32_t)s->info.loss_info.loss;
  meta.reduction = (int32_t)s->info.loss_info.reduction_type;
  meta.optimizer = (int32_t)s->info.opt;
  meta.batch_size = (int32_t)s->info.batch_size;
  if (!s->info_from_model) {
    TrainableChoice c = {.last_n = s->info.num_of_trainable_ops};
    meta.n_trainable_ops = 0;
    meta.trainable_ops = ops;
    for (int32_t i = 0; i < g->n_model_ops; ++i)
      if (trainable_has_op(&c, g->n_model_ops, i))
        ops[meta.n_trainable_ops++] = i;
  }
  Status status = export_model(s, FN_train_export_circleplus, path, &meta);
  arena_drop(&arena);
  return status;
}

NNFW_STATUS nnfw_train_export_circleplus(nnfw_session *session, const char *file_path)
{
  API_CALL(session, export_plus(session, file_path));
}

static Status import_checkpoint(nnfw_session *s, const char *path)
{
  TRY(session_given(s, path, "path"));
  TRY(session_allows(s, FN_train_import_checkpoint));
  return train_import_checkpoint(s->train, path, &s->diag);
}

NNFW_STATUS nnfw_train_import_checkpoint(nnfw_session *session, const char *path)
{
  API_CALL(session, import_checkpoint(session, path));
}

static Status export_checkpoint(nnfw_session *s, const char *path)
{
  TRY(session_given(s, path, "path"));
  TRY(session_allows(s, FN_train_export_checkpoint));
  return train_export_checkpoint(s->train, path, &s->diag);
}

NNFW_STATUS nnfw_train_export_checkpoint(nnfw_session *session, const char *path)
{
  API_CALL(session, export_checkpoint(session, path));
}
