// SPDX-License-Identifier: Apache-2.0
// The graph: tensors and the nodes that make them, by index.
//
// Shapes are those of ONE SAMPLE, i.e. of the file's own batch (-1 taken as 1). A tensor that
// depends on a graph input is `batched`: at run time it is stored [N][one sample], and a node
// means "for every sample, what the file says". See compile/ and exec/.
//
// Every tensor has at most one producer and is written once per step, except parameters and
// optimizer state, which update nodes change in place.
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include "base/arena.h"
#include "base/diag.h"
#include "graph/dtype.h"
#include "graph/shape.h"

typedef struct OpDef OpDef; // ops/op.h

typedef enum {
  TK_TEMP,     // made by a node; planned memory
  TK_CONST,    // bytes at `data`, never written by a step
  TK_PARAM,    // bytes at `data`, written by an update node
  TK_STATE,    // optimizer state, bytes at `data`, written by an update node
  TK_INPUT,    // a caller's buffer, bound at run time: graph inputs and labels
} TensorKind;

typedef enum { ACT_NONE, ACT_RELU, ACT_RELU_N1_TO_1, ACT_RELU6, ACT_TANH } ActKind;

typedef struct {
  int32_t n;             // entries; 0: not quantized
  int32_t axis;          // quantized dimension where n > 1
  const float *scale;    // real = scale * (q - zero_point)
  const int64_t *zero_point;
} Quant;

typedef struct {
  const char *name;      // never NULL; may be empty
  DType dtype;
  Shape shape;           // one sample; from the file until the infer pass has set it
  Shape declared;        // as in the file, -1 where its signature says unknown
  bool has_declared;     // the file states a shape (rank 0 with no data states none)
  TensorKind kind;
  bool batched;          // depends on a graph input
  bool variable;         // is_variable in the file
  void *data;            // TK_CONST, TK_PARAM, TK_STATE: aligned, owned by the model or an arena
  Quant quant;
  int32_t model_tensor;  // index in the model file, -1 for tensors added here
  int32_t producer;      // node, or -1
} Tensor;

typedef struct {
  const OpDef *op;
  const void *attr;      // op->attr_bytes bytes
  int32_t *in;           // tensors; -1 where an optional operand is absent
  int32_t *out;
  int32_t n_in, n_out;
  int32_t acc;           // tensor that is added to output 0 (same shape), or -1
  ActKind act;           // fused activation, applied last
  int32_t model_op;      // operator index in the model file, -1 for nodes added here
} Node;

typedef struct {
  Arena *arena;          // owns arrays, names, attributes
  const char *name;
  Tensor *tensors;
  Node *nodes;           // in an order that can be executed
  size_t n_tensors, n_nodes, cap_tensors, cap_nodes;
  int32_t *inputs, *outputs;
  int32_t n_inputs, n_outputs;
  int32_t n_model_ops;     // operators of the file, whatever passes have made of them
  int32_t n_model_tensors; // tensors of the file; their indices here are the same
} Graph;

// Each returns the new index, or -1 when memory is short.
int32_t graph_add_tensor(Graph *g, const Tensor *t);
int32_t graph_add_node(Graph *g, const Node *n); // copies in/out; sets the outputs' producer

// A copy whose arrays live in `arena`; constants' bytes and attributes are shared.
Status graph_copy(const Graph *from, Arena *arena, Graph *to) MUST_USE;

#endif
