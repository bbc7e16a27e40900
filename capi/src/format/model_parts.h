// SPDX-License-Identifier: Apache-2.0
// What the files of the model loader and writer share: no business of other layers.
#ifndef FORMAT_MODEL_PARTS_H
#define FORMAT_MODEL_PARTS_H

#include "fb/reader.h"
#include "format/model.h"

// Name of the metadata that holds training information.
#define TRAIN_METADATA "CIRCLE_TRAINING"

// Root table of a model that has been loaded.
FbTable model_root(const Model *m);

// A range of Model.bytes; bytes = 0: no data.
typedef struct {
  size_t at, bytes;
} FileSpan;

// Where the data of a buffer stands, inside the flatbuffer or behind it. Refuses a buffer that does
// not exist or does not lie inside the file.
Status model_buffer(const Model *m, uint32_t buffer, FileSpan *span, Diag *d) MUST_USE;

// Effective builtin code of an entry of Model.operator_codes.
int32_t model_opcode(FbTable opcode);

// A file that is being loaded.
typedef struct {
  Model *m;
  FbTable root, subgraph;
  size_t budget; // bytes that may still be copied out of the file
  Diag *diag;
} Loader;

enum { LOADER_MAX_TENSORS = 200000 };

// Tensors of the subgraph into Model.graph and Model.place, then their constants' bytes into
// Model.constants.
Status load_tensors(Loader *l) MUST_USE;
Status load_constants(Loader *l) MUST_USE;

// Operators of the subgraph that are not supported, all in one message.
Status model_check_supported(FbTable root, FbTable subgraph, Diag *d) MUST_USE;
// Order of definition and use, producers, inputs and outputs, types of a graph whose nodes are sane
// one by one.
Status model_check_graph(const Graph *g, Diag *d) MUST_USE;

// Metadata entry with the training information, or -1.
int32_t train_meta_find(const Model *m);
Status train_meta_read(Model *m, Diag *d) MUST_USE;
// The blob to store, in `arena`.
Status train_meta_write(const TrainMeta *t, Arena *arena, const uint8_t **bytes, size_t *size,
                        Diag *d) MUST_USE;

#endif
