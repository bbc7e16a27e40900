// SPDX-License-Identifier: Apache-2.0
// Passes over a data set with a session that is prepared for training.
#ifndef TRAIN_LOOP_H
#define TRAIN_LOOP_H

#include "raw_data.h"

#include <nnfw/nnfw_experimental.h>

typedef struct {
  nnfw_session *session;
  uint32_t batch, n_inputs, n_outputs;
  nnfw_tensorinfo *inputs;  // [n_inputs], of a full batch
  nnfw_tensorinfo *outputs; // [n_outputs], of predictions and expected tensors alike
  RawData input_data, expected_data;
  void **predictions;       // [n_outputs]
  uint32_t bound;           // samples that the buffers are bound for
} TrainLoop;

// Of one pass, per output. Steps weigh by their samples.
typedef struct {
  double *loss;      // [n_outputs] mean of the steps' losses
  double *accuracy;  // [n_outputs] share of samples whose largest element is where it should be
  double step_ms;    // all nnfw_train calls of the pass
  uint64_t n_steps;
} Pass;

// Opens the data files and binds buffers. The counts are the model's own, taken before
// nnfw_train_prepare.
void train_loop_open(TrainLoop *loop, const char *input_path, const char *expected_path);
void train_loop_close(TrainLoop *loop);

Pass pass_alloc(const TrainLoop *loop);
void pass_free(Pass *pass);
// Runs samples first .. first + n - 1 in batches, the last one as short as it is. `accuracy` needs
// float32 outputs.
void train_loop_pass(TrainLoop *loop, uint64_t first, uint64_t n, bool update, bool accuracy,
                     Pass *pass);

#endif
