// SPDX-License-Identifier: Apache-2.0
// Passes over a data set with a session that is prepared for training.
#include "train_loop.h"

#include "tool.h"
#include "tool_meter.h"

#include <stdlib.h>
#include <string.h>

void train_loop_open(TrainLoop *loop, const char *input_path, const char *expected_path)
{
  loop->inputs = tool_alloc(loop->n_inputs, sizeof *loop->inputs);
  loop->outputs = tool_alloc(loop->n_outputs, sizeof *loop->outputs);
  loop->predictions = tool_alloc(loop->n_outputs, sizeof *loop->predictions);
  for (uint32_t i = 0; i < loop->n_inputs; ++i)
    CALL(nnfw_input_tensorinfo, loop->session, i, &loop->inputs[i]);
  for (uint32_t i = 0; i < loop->n_outputs; ++i) {
    CALL(nnfw_output_tensorinfo, loop->session, i, &loop->outputs[i]);
    size_t bytes = tool_tensor_bytes(&loop->outputs[i]);
    loop->predictions[i] = tool_alloc(1, bytes);
    CALL(nnfw_train_set_output, loop->session, i, loop->outputs[i].dtype, loop->predictions[i],
         bytes);
  }
  loop->input_data = raw_data_open(input_path, loop->inputs, loop->n_inputs, loop->batch);
  loop->expected_data = raw_data_open(expected_path, loop->outputs, loop->n_outputs, loop->batch);
}

void train_loop_close(TrainLoop *loop)
{
  raw_data_close(&loop->input_data);
  raw_data_close(&loop->expected_data);
  for (uint32_t i = 0; i < loop->n_outputs; ++i)
    free(loop->predictions[i]);
  free(loop->predictions);
  free(loop->outputs);
  free(loop->inputs);
}

Pass pass_alloc(const TrainLoop *loop)
{
  return (Pass){.loss = tool_alloc(loop->n_outputs, sizeof(double)),
                .accuracy = tool_alloc(loop->n_outputs, sizeof(double))};
}

void pass_free(Pass *pass)
{
  free(pass->loss);
  free(pass->accuracy);
}

// Tells the session that the next steps have n samples. The buffers stay the same.
static void bind(TrainLoop *loop, uint32_t n)
{
  if (loop->bound == n)
    return;
  for (uint32_t i = 0; i < loop->n_inputs; ++i) {
    nnfw_tensorinfo info = loop->inputs[i];
    info.dims[0] = (int32_t)n;
    CALL(nnfw_train_set_input, loop->session, i, loop->input_data.buffers[i], &info);
  }
  for (uint32_t i = 0; i < loop->n_outputs; ++i) {
    nnfw_tensorinfo info = loop->outputs[i];
    info.dims[0] = (int32_t)n;
    CALL(nnfw_train_set_expected, loop->session, i, loop->expected_data.buffers[i], &info);
  }
  loop->bound = n;
}

static size_t largest(const float *v, size_t n)
{
  size_t at = 0;
  for (size_t i = 1; i < n; ++i)
    if (v[i] > v[at])
      at = i;
  return at;
}

// Samples of output i, among the first n, whose prediction is right.
static uint32_t count_right(const TrainLoop *loop, uint32_t i, uint32_t n)
{
  size_t width = loop->expected_data.sample_bytes[i] / sizeof(float);
  const float *p = loop->predictions[i], *t = loop->expected_data.buffers[i];
  uint32_t right = 0;
  for (uint32_t b = 0; b < n; ++b)
    right += largest(p + b * width, width) == largest(t + b * width, width);
  return right;
}

void train_loop_pass(TrainLoop *loop, uint64_t first, uint64_t n, bool update, bool accuracy,
                     Pass *pass)
{
  pass->step_ms = 0;
  pass->n_steps = 0;
  memset(pass->loss, 0, loop->n_outputs * sizeof *pass->loss);
  memset(pass->accuracy, 0, loop->n_outputs * sizeof *pass->accuracy);
  for (uint64_t done = 0; done < n;) {
    uint32_t now = n - done < loop->batch ? (uint32_t)(n - done) : loop->batch;
    raw_data_read(&loop->input_data, first + done, now);
    raw_data_read(&loop->expected_data, first + done, now);
    bind(loop, now);
    double begin = meter_now();
    CALL(nnfw_train, loop->session, update);
    pass->step_ms += meter_now() - begin;
    ++pass->n_steps;
    double weight = (double)now / (double)n;
    for (uint32_t i = 0; i < loop->n_outputs; ++i) {
      float loss = 0;
      CALL(nnfw_train_get_loss, loop->session, i, &loss);
      pass->loss[i] += weight * (double)loss;
      if (accuracy)
        pass->accuracy[i] += count_right(loop, i, now) / (double)n;
    }
    done += now;
  }
}
