// SPDX-License-Identifier: Apache-2.0
// A model prepared for training: the graph with losses, gradients and updates, its programs for
// the batch sizes in use, optimizer state, and the checkpoint that holds it all.
//
// Parameters are the model's own constants, trained in place. Preparing may fail and then leaves
// the model as it was; a step cannot fail once its buffers have been checked.
#ifndef TRAIN_TRAIN_H
#define TRAIN_TRAIN_H

#include "compile/grad.h"
#include "format/model.h"
#include "train/trainable.h"

#include "base/pool.h"

typedef struct {
  float learning_rate;
  int32_t batch_size;       // rows of one step: a multiple of the file's own batch
  LossKind loss;
  bool mean;                // losses: mean over the rows, else their sum
  bool adam;                // else SGD
  double beta1, beta2, epsilon;
  TrainableChoice trainable;
  bool keep_gradients;
  uint64_t memory_limit;    // bytes that a step's intermediate tensors may take; 0: any number
} TrainConfig;

typedef struct Train Train;

// `shapes` replaces the shapes of the model's inputs where not NULL ([n_inputs], dimension 0 as in
// the file).
Status train_create(Model *model, const Shape *shapes, const TrainConfig *config, Pool *pool,
                    Train **out, Diag *d) MUST_USE;
void train_destroy(Train *t);

// The graph: inputs, then labels by train_label, outputs. Shapes are those of one sample.
const Graph *train_graph(const Train *t);
int32_t train_label(const Train *t, int32_t output);
// Samples of one full step, and the shape of a batched tensor for `samples` of them as the API
// shows it: the leading dimension multiplied, or added where the sample has no batch dimension.
int32_t train_samples(const Train *t);
Shape train_batch_shape(const Train *t, int32_t tensor, int32_t samples);
size_t train_sample_bytes(const Train *t, int32_t tensor);

// Bytes of the block that holds the intermediate tensors of steps.
size_t train_memory(const Train *t);

// Makes the program of steps of that many samples, which may allocate; 1 .. train_samples.
Status train_ready(Train *t, int32_t samples, Diag *d) MUST_USE;

typedef struct {
  int32_t samples;            // made ready before
  const void *const *inputs;  // [n_inputs]
  const void *const *labels;  // [n_outputs]; NULL: prediction only, no losses
  void *const *outputs;       // [n_outputs]; NULL entries are not written
  bool update;                // backward and updates as well
} TrainStep;

void train_run(Train *t, const TrainStep *step);
// Loss of output i in the last run with labels.
float train_loss(const Train *t, int32_t output);

void train_set_learning_rate(Train *t, float learning_rate);

size_t train_parameter_count(const Train *t);
const Tensor *train_parameter(const Train *t, size_t i);
// The tensor of the model file that holds it, which may be of another type.
int32_t train_parameter_home(const Train *t, size_t i);
// Of the last updating run; NULL unless keep_gradients.
const float *train_gradient(const Train *t, size_t i);

Status train_export_checkpoint(const Train *t, const char *path, Diag *d) MUST_USE;
Status train_import_checkpoint(Train *t, const char *path, Diag *d) MUST_USE;

#endif
