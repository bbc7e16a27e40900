// SPDX-License-Identifier: Apache-2.0
// A model file in memory: its bytes, the graph read from it, and where in the bytes each constant
// stands, so that a trained model is the old file with new bytes in those places.
#ifndef FORMAT_MODEL_H
#define FORMAT_MODEL_H

#include "base/arena.h"
#include "base/diag.h"
#include "graph/graph.h"

// Training information as a CIRCLE_TRAINING metadata blob holds it (spec: schema CTR0), with the
// codes of nnfw_train_info: loss 1 MSE 2 CCE, reduction 1 sum-over-batch-size 2 sum, optimizer 1 SGD
// 2 Adam.
typedef struct {
  bool present;
  uint32_t version;
  float learning_rate;
  bool has_adam;         // beta1, beta2, epsilon are given
  float beta1, beta2, epsilon;
  int32_t loss, reduction, optimizer;
  int32_t batch_size;
  int32_t *trainable_ops; // operator indices
  int32_t n_trainable_ops;
} TrainMeta;

// Where a tensor's constant stands in the file.
typedef struct {
  uint32_t buffer;       // index in Model.buffers of the file
  size_t data_offset;    // of its first byte in `bytes`; 0: not a constant, or one without bytes
  size_t data_bytes;
  uint32_t buffer_field_offset; // of the u32 Tensor.buffer itself, 0 where it is absent
} TensorPlace;

typedef struct {
  Arena arena;           // owns everything below except the two blocks
  uint8_t *bytes;        // the file, unchanged; owned
  size_t size;
  uint8_t *constants;    // one block with the aligned copies that Tensor.data points to; owned
  bool tflite;           // identifier TFL3
  int32_t n_subgraphs;
  Graph graph;           // subgraph 0
  TensorPlace *place;    // [graph.n_model_tensors]
  TrainMeta train;
} Model;

// Reads and checks everything: flatbuffer structure, then meaning. Takes over `bytes` (from
// mem_alloc) in every case. `label` names the file in messages.
Status model_load(uint8_t *bytes, size_t size, const char *label, Model **out, Diag *d) MUST_USE;
// A .circle or .tflite file, or an nnpackage directory with one model.
Status model_load_path(const char *path, Model **out, Diag *d) MUST_USE;
void model_destroy(Model *m);

// Writes the model to `path` with its constants as they are now: values[i] are the bytes of model
// tensor i, NULL where it keeps the file's. `train` is stored as CIRCLE_TRAINING metadata where not
// NULL. The file is a circle file, unless it was read from a tflite file and `path` ends in .tflite.
Status model_save(const Model *m, const void *const *values, const TrainMeta *train,
                  const char *path, Diag *d) MUST_USE;

#endif
