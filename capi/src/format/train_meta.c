// SPDX-License-Identifier: Apache-2.0
// Training information in a circle file: a flatbuffer of its own (schema CTR0) in the buffer of the
// metadata CIRCLE_TRAINING. Codes in the blob differ from those of nnfw_train_info.
#include "fb/circle_schema.h"
#include "fb/writer.h"
#include "format/model_parts.h"

#include <string.h>

enum { FILE_SGD, FILE_ADAM };                    // optimizer; its options have the tag code + 1
enum { FILE_SPARSE_CCE, FILE_CCE, FILE_MSE };    // loss; the same
enum { FILE_SUM_OVER_BATCH_SIZE, FILE_SUM };
enum { LOSS_MSE = 1, LOSS_CCE = 2, OPTIMIZER_ADAM = 2 };

int32_t train_meta_find(const Model *m)
{
  FbVector metadata = fb_vector(model_root(m), MODEL_METADATA);
  for (uint32_t i = 0; i < metadata.n; ++i) {
    size_t length = 0;
    const char *name = fb_string(fb_vec_table(metadata, i), METADATA_NAME, &length);
    if (length == strlen(TRAIN_METADATA) && memcmp(name, TRAIN_METADATA, length) == 0)
      return (int32_t)i;
  }
  return -1;
}

static Status read_codes(FbTable root, TrainMeta *t, Diag *d)
{
  int8_t optimizer = fb_i8(root, TRAINING_OPTIMIZER, 0), loss = fb_i8(root, TRAINING_LOSS, 0);
  int8_t reduction = fb_i8(root, TRAINING_REDUCTION, 0);
  if (optimizer != FILE_SGD && optimizer != FILE_ADAM)
    return diag_fail(d, ST_ERROR, "optimizer %d is unknown", optimizer);
  if (loss == FILE_SPARSE_CCE)
    return diag_fail(d, ST_ERROR, "sparse categorical cross-entropy is not supported");
  if (loss != FILE_CCE && loss != FILE_MSE)
    return diag_fail(d, ST_ERROR, "loss %d is unknown", loss);
  if (reduction != FILE_SUM_OVER_BATCH_SIZE && reduction != FILE_SUM)
    return diag_fail(d, ST_ERROR, "loss reduction %d is unknown", reduction);
  t->optimizer = optimizer + 1;
  t->loss = loss == FILE_CCE ? LOSS_CCE : LOSS_MSE;
  t->reduction = reduction + 1;
  t->batch_size = fb_i32(root, TRAINING_BATCH_SIZE, 0);
  if (t->batch_size < 0)
    return diag_fail(d, ST_ERROR, "batch size is %d", t->batch_size);
  return ST_OK;
}

static Status read_optimizer(FbTable root, TrainMeta *t, Diag *d)
{
  uint8_t type = fb_u8(root, TRAINING_OPTIMIZER_TYPE, 0);
  FbTable options = fb_table(root, TRAINING_OPTIMIZER_OPTIONS);
  if (type != 0 && type != t->optimizer)
    return diag_fail(d, ST_ERROR, "options of type %u do not belong to optimizer %d", type,
                     t->optimizer - 1);
  // The learning rate is field 0 of both; options that are missing have all defaults.
  t->learning_rate = fb_f32(options, TRAIN_SGD_LEARNING_RATE, 0);
  if (t->optimizer != OPTIMIZER_ADAM)
    return ST_OK;
  t->beta1 = fb_f32(options, TRAIN_ADAM_BETA1, 0);
  t->beta2 = fb_f32(options, TRAIN_ADAM_BETA2, 0);
  t->epsilon = fb_f32(options, TRAIN_ADAM_EPSILON, 0);
  t->has_adam = fb_has(options, TRAIN_ADAM_BETA1) && fb_has(options, TRAIN_ADAM_BETA2) &&
                fb_has(options, TRAIN_ADAM_EPSILON);
  return ST_OK;
}

static Status read_blob(Model *m, FileSpan span, Diag *d)
{
  TrainMeta *t = &m->train;
  FbTable root;
  TRY(fb_verify(m->bytes + span.at, span.bytes, "CTR0", &fb_ModelTraining, &root, d));
  t->version = fb_u32(root, TRAINING_VERSION, 0);
  TRY(read_codes(root, t, d));
  TRY(read_optimizer(root, t, d));
  FbVector ops = fb_vector(root, TRAINING_OPS);
  t->n_trainable_ops = (int32_t)ops.n;
  t->trainable_ops = arena_array(&m->arena, ops.n, sizeof *t->trainable_ops);
  if (!t->trainable_ops)
    return diag_oom(d);
  for (uint32_t i = 0; i < ops.n; ++i)
    t->trainable_ops[i] = fb_vec_i32(ops, i);
  t->present = true;
  return ST_OK;
}

Status train_meta_read(Model *m, Diag *d)
{
  int32_t found = train_meta_find(m);
  if (found < 0)
    return ST_OK;
  FbVector metadata = fb_vector(model_root(m), MODEL_METADATA);
  FbTable entry = fb_vec_table(metadata, (uint32_t)found);
  FileSpan span = {0, 0};
  Diag inner = {0};
  Status s = model_buffer(m, fb_u32(entry, METADATA_BUFFER, 0), &span, &inner);
  if (s == ST_OK)
    s = read_blob(m, span, &inner);
  if (s == ST_OK)
    return ST_OK;
  return s == ST_OOM ? diag_oom(d)
                     : diag_fail(d, s, "metadata %s at offset %zu: %s", TRAIN_METADATA, span.at,
                                 inner.text);
}

Status train_meta_write(const TrainMeta *t, Arena *arena, const uint8_t **bytes, size_t *size,
                        Diag *d)
{
  FbWriter w = {.arena = arena};
  bool adam = t->optimizer == OPTIMIZER_ADAM;
  int8_t optimizer = (int8_t)(t->optimizer - 1), reduction = (int8_t)(t->reduction - 1);
  int8_t loss = t->loss == LOSS_CCE ? FILE_CCE : FILE_MSE;
  uint8_t optimizer_tag = (uint8_t)(optimizer + 1), loss_tag = (uint8_t)(loss + 1);
  fb_write_header(&w, "CTR0");
  size_t root = fb_write_table(&w,
                               (FbSlot[]){
                                 {TRAINING_VERSION, 4, &t->version},
                                 {TRAINING_OPTIMIZER, 1, &optimizer},
                                 {TRAINING_OPTIMIZER_TYPE, 1, &optimizer_tag},
                                 {TRAINING_OPTIMIZER_OPTIONS, 4, NULL},
                                 {TRAINING_LOSS, 1, &loss},
                                 {TRAINING_LOSS_TYPE, 1, &loss_tag},
                                 {TRAINING_LOSS_OPTIONS, 4, NULL},
                                 {TRAINING_BATCH_SIZE, 4, &t->batch_size},
                                 {TRAINING_REDUCTION, 1, &reduction},
                                 {TRAINING_OPS, 4, NULL},
                               },
                               10);
  fb_point(&w, 0, root);
  FbSlot options[] = {{TRAIN_ADAM_LEARNING_RATE, 4, &t->learning_rate},
                      {TRAIN_ADAM_BETA1, 4, &t->beta1},
                      {TRAIN_ADAM_BETA2, 4, &t->beta2},
                      {TRAIN_ADAM_EPSILON, 4, &t->epsilon}};
  fb_point(&w, fb_written_field(&w, root, TRAINING_OPTIMIZER_OPTIONS),
           fb_write_table(&w, options, adam && t->has_adam ? 4 : 1));
  fb_point(&w, fb_written_field(&w, root, TRAINING_LOSS_OPTIONS), fb_write_table(&w, NULL, 0));
  fb_point(&w, fb_written_field(&w, root, TRAINING_OPS),
           fb_write_vector(&w, t->trainable_ops, (size_t)t->n_trainable_ops, 4));
  *bytes = w.bytes;
  *size = w.size;
  return w.failed ? diag_oom(d) : ST_OK;
}
