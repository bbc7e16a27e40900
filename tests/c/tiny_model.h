// SPDX-License-Identifier: Apache-2.0
// A small model file made in memory, with the positions of its parts, so that tests can damage it:
//
//   x [-1,3] -> FULLY_CONNECTED(w [2,3], b [2]) -> h [1,2] -> ADD(b2 [2]) -> y [1,2];  z is unused
//
// b and b2 share a buffer.
#ifndef TESTS_TINY_MODEL_H
#define TESTS_TINY_MODEL_H

#include "fb/circle_schema.h"
#include "fb/writer.h"

#include <string.h>

enum { X, W, B, H, B2, Y, Z, TENSORS };

typedef struct {
  // What to put in; zeros make the model above.
  const char *identifier;   // NULL: CIR0
  bool compression, sparse; // the fields are there (with value 0) on tensor W
  bool quantized, details;  // two scales on dimension 0 of W
  bool outside;             // W's data stands behind the flatbuffer
  bool training;            // an empty CIRCLE_TRAINING buffer
  bool empty;               // nothing but a subgraph without anything
  // Where things stand.
  FbWriter w;
  size_t model, subgraph, tensor[TENSORS], shape[TENSORS], signature[TENSORS], buffer[4];
  size_t op[2], options[2], in[2], out[2], opcode[2], inputs, outputs, scale, zero;
  size_t end; // of the flatbuffer
} Tiny;

static const float tiny_w[6] = {1, 2, 3, 4, 5, 6}, tiny_b[2] = {0.5f, -0.5f};

static void tiny_point(Tiny *t, size_t table, int field, size_t target)
{
  fb_point(&t->w, fb_written_field(&t->w, table, field), target);
}

static void tiny_put(Tiny *t, size_t at, int32_t value)
{
  memcpy(t->w.bytes + at, &value, 4);
}

static void tiny_set(Tiny *t, size_t table, int field, int32_t value)
{
  tiny_put(t, fb_written_field(&t->w, table, field), value);
}

static void tiny_set_byte(Tiny *t, size_t table, int field, uint8_t value)
{
  t->w.bytes[fb_written_field(&t->w, table, field)] = value;
}

// A vector of ints with room for one more.
static size_t tiny_ints(Tiny *t, const int32_t *values, size_t n)
{
  int32_t room[8] = {0};
  memcpy(room, values, n * sizeof *values);
  size_t at = fb_write_vector(&t->w, room, n + 1, 4);
  tiny_put(t, at, (int32_t)n);
  return at;
}

static void tiny_tensor(Tiny *t, int i, const char *name, int32_t rows, int32_t columns,
                        uint32_t buffer)
{
  int32_t both[2] = {rows, columns}, known[2] = {rows < 0 ? 1 : rows, columns};
  size_t rank = columns ? 2 : 1;
  uint8_t zero = 0;
  FbSlot slots[10] = {{TENSOR_SHAPE, 4, NULL},  {TENSOR_SHAPE_SIGNATURE, 4, NULL},
                      {TENSOR_NAME, 4, NULL},   {TENSOR_BUFFER, 4, &buffer},
                      {TENSOR_TYPE, 1, &zero},  {TENSOR_IS_VARIABLE, 1, &zero}};
  size_t n = 6;
  bool quantized = t->quantized && i == W;
  if (quantized)
    slots[n++] = (FbSlot){TENSOR_QUANTIZATION, 4, NULL};
  if (t->sparse && i == W)
    slots[n++] = (FbSlot){TENSOR_SPARSITY, 4, NULL};
  if (t->compression && i == W)
    slots[n++] = (FbSlot){TENSOR_COMPRESSION, 1, &zero};
  size_t table = t->tensor[i] = fb_write_table(&t->w, slots, n);
  tiny_point(t, table, TENSOR_SHAPE, t->shape[i] = tiny_ints(t, known, rank));
  tiny_point(t, table, TENSOR_SHAPE_SIGNATURE, t->signature[i] = tiny_ints(t, both, rank));
  tiny_point(t, table, TENSOR_NAME, fb_write_vector(&t->w, name, strlen(name), 1));
  if (t->sparse && i == W)
    tiny_point(t, table, TENSOR_SPARSITY, fb_write_table(&t->w, NULL, 0));
  if (quantized) {
    float scale[2] = {0.5f, 0.25f};
    int64_t zeros[2] = {0, 1};
    uint8_t details = 1;
    size_t q = fb_write_table(&t->w,
                              (FbSlot[]){{QUANTIZATION_SCALE, 4, NULL},
                                         {QUANTIZATION_ZERO_POINT, 4, NULL},
                                         {QUANTIZATION_DIMENSION, 4, NULL},
                                         {QUANTIZATION_DETAILS_TYPE, 1, &details},
                                         {QUANTIZATION_DETAILS, 4, NULL}},
                              t->details ? 5 : 3);
    tiny_point(t, table, TENSOR_QUANTIZATION, q);
    tiny_point(t, q, QUANTIZATION_SCALE, t->scale = fb_write_vector(&t->w, scale, 2, 4));
    tiny_point(t, q, QUANTIZATION_ZERO_POINT, t->zero = fb_write_vector(&t->w, zeros, 2, 8));
    if (t->details)
      tiny_point(t, q, QUANTIZATION_DETAILS, fb_write_table(&t->w, NULL, 0));
  }
}

static void tiny_operator(Tiny *t, int i, uint8_t tag, const int32_t *in, size_t n_in, int32_t out)
{
  uint32_t index = (uint32_t)i;
  uint8_t act = 0;
  size_t table = t->op[i] = fb_write_table(&t->w,
                                           (FbSlot[]){{OPERATOR_OPCODE_INDEX, 4, &index},
                                                      {OPERATOR_INPUTS, 4, NULL},
                                                      {OPERATOR_OUTPUTS, 4, NULL},
                                                      {OPERATOR_OPTIONS_TYPE, 1, &tag},
                                                      {OPERATOR_OPTIONS, 4, NULL}},
                                           5);
  tiny_point(t, table, OPERATOR_INPUTS, t->in[i] = tiny_ints(t, in, n_in));
  tiny_point(t, table, OPERATOR_OUTPUTS, t->out[i] = tiny_ints(t, &out, 1));
  // The fused activation is field 0 of both.
  tiny_point(t, table, OPERATOR_OPTIONS,
             t->options[i] = fb_write_table(&t->w, (FbSlot[]){{0, 1, &act}}, 1));
}

static void tiny_tables(Tiny *t, const size_t *tables, size_t n, size_t vector)
{
  for (size_t i = 0; i < n; ++i)
    fb_point(&t->w, vector + 4 + 4 * i, tables[i]);
}

// A vector of `n` offsets whose tables follow.
static size_t tiny_list(Tiny *t, size_t parent, int field, size_t n)
{
  size_t vector = fb_write_vector(&t->w, NULL, n, 4);
  tiny_point(t, parent, field, vector);
  return vector;
}

static void tiny_subgraph(Tiny *t)
{
  size_t list = 0;
  t->subgraph = fb_write_table(
    &t->w,
    (FbSlot[]){{SUBGRAPH_TENSORS, 4, NULL}, {SUBGRAPH_INPUTS, 4, NULL}, {SUBGRAPH_OUTPUTS, 4, NULL},
               {SUBGRAPH_OPERATORS, 4, NULL}},
    4);
  tiny_point(t, t->subgraph, SUBGRAPH_INPUTS, t->inputs = tiny_ints(t, (int32_t[]){X}, 1));
  tiny_point(t, t->subgraph, SUBGRAPH_OUTPUTS, t->outputs = tiny_ints(t, (int32_t[]){Y}, 1));
  list = tiny_list(t, t->subgraph, SUBGRAPH_TENSORS, TENSORS);
  tiny_tensor(t, X, "x", -1, 3, 0);
  tiny_tensor(t, W, "w", 2, 3, 1);
  tiny_tensor(t, B, "b", 2, 0, 2);
  tiny_tensor(t, H, "h", 1, 2, 0);
  tiny_tensor(t, B2, "b2", 2, 0, 2);
  tiny_tensor(t, Y, "y", 1, 2, 0);
  tiny_tensor(t, Z, "z", 1, 2, 0);
  tiny_tables(t, t->tensor, TENSORS, list);
  list = tiny_list(t, t->subgraph, SUBGRAPH_OPERATORS, 2);
  tiny_operator(t, 0, 8, (int32_t[]){X, W, B}, 3, H);
  tiny_operator(t, 1, 11, (int32_t[]){H, B2}, 2, Y);
  tiny_tables(t, t->op, 2, list);
}

static void tiny_buffer(Tiny *t, int i, const void *data, size_t size)
{
  uint64_t offset = 0, bytes = size;
  if (data) {
    t->buffer[i] = fb_write_table(&t->w, (FbSlot[]){{BUFFER_DATA, 4, NULL}}, 1);
    tiny_point(t, t->buffer[i], BUFFER_DATA, fb_write_vector(&t->w, data, size, 1));
  } else {
    t->buffer[i] = fb_write_table(
      &t->w, (FbSlot[]){{BUFFER_OFFSET, 8, &offset}, {BUFFER_SIZE, 8, &bytes}}, size ? 2 : 0);
  }
}

static void tiny_build(Tiny *t, Arena *arena)
{
  size_t list = 0;
  t->w = (FbWriter){.arena = arena};
  fb_write_header(&t->w, t->identifier ? t->identifier : "CIR0");
  if (t->empty) {
    t->model = fb_write_table(&t->w, (FbSlot[]){{MODEL_SUBGRAPHS, 4, NULL}}, 1);
    fb_point(&t->w, 0, t->model);
    list = tiny_list(t, t->model, MODEL_SUBGRAPHS, 1);
    t->subgraph = fb_write_table(&t->w, NULL, 0);
    tiny_tables(t, &t->subgraph, 1, list);
    return;
  }
  t->model = fb_write_table(
    &t->w,
    (FbSlot[]){{MODEL_OPERATOR_CODES, 4, NULL}, {MODEL_SUBGRAPHS, 4, NULL},
               {MODEL_BUFFERS, 4, NULL}, {MODEL_METADATA, 4, NULL}},
    t->training ? 4 : 3);
  fb_point(&t->w, 0, t->model);
  list = tiny_list(t, t->model, MODEL_OPERATOR_CODES, 2);
  int8_t codes[2] = {9, 0};
  for (int i = 0; i < 2; ++i) {
    t->opcode[i] = fb_write_table(
      &t->w, (FbSlot[]){{OPCODE_DEPRECATED_BUILTIN, 1, &codes[i]}, {OPCODE_BUILTIN, 4, NULL}}, 2);
    tiny_set(t, t->opcode[i], OPCODE_BUILTIN, codes[i]);
  }
  tiny_tables(t, t->opcode, 2, list);
  list = tiny_list(t, t->model, MODEL_SUBGRAPHS, 1);
  tiny_subgraph(t);
  tiny_tables(t, &t->subgraph, 1, list);
  list = tiny_list(t, t->model, MODEL_BUFFERS, 4);
  tiny_buffer(t, 0, NULL, 0);
  tiny_buffer(t, 1, t->outside ? NULL : tiny_w, sizeof tiny_w);
  tiny_buffer(t, 2, tiny_b, sizeof tiny_b);
  tiny_buffer(t, 3, NULL, 0);
  tiny_tables(t, t->buffer, 4, list);
  if (t->training) {
    list = tiny_list(t, t->model, MODEL_METADATA, 1);
    uint32_t buffer = 3;
    size_t entry = fb_write_table(
      &t->w, (FbSlot[]){{METADATA_NAME, 4, NULL}, {METADATA_BUFFER, 4, &buffer}}, 2);
    tiny_point(t, entry, METADATA_NAME, fb_write_vector(&t->w, "CIRCLE_TRAINING", 15, 1));
    tiny_tables(t, &entry, 1, list);
  }
  fb_write_align(&t->w, 16);
  t->end = t->w.size;
  if (t->outside) {
    size_t copy = fb_write_vector(&t->w, tiny_w, sizeof tiny_w, 1);
    uint64_t at = copy + 4;
    memcpy(t->w.bytes + fb_written_field(&t->w, t->buffer[1], BUFFER_OFFSET), &at, sizeof at);
  }
}

#endif
