// SPDX-License-Identifier: Apache-2.0
// A graph of one operator, made from a test case (ops/op.h), that can be run and trained with any
// of its operands constant, batched or trained.
#ifndef TESTS_OPGRAPH_H
#define TESTS_OPGRAPH_H

#include "compile/grad.h"
#include "exec/program.h"
#include "ops/op.h"

enum { OP_INPUTS = 20, OP_OUTPUTS = 4, OP_SAMPLES = 3 };

typedef enum {
  ROLE_ABSENT,
  ROLE_CONST,
  ROLE_INPUT,   // batched graph input
  ROLE_TEMP,    // the same through two negations: memory that dies at the operator
  ROLE_PARAM,   // trained constant, not batched
  ROLE_SCALED,  // trained constant times a batched input: batched, and trained
} Role;

// Values of the operands for OP_SAMPLES samples, one behind the other.
typedef struct {
  void *in[OP_INPUTS];
  size_t bytes[OP_INPUTS]; // of one sample
  float *label[OP_OUTPUTS]; // of the outputs that have a loss
  const void *attr;        // of the operator
  int only;                // the output that alone has a loss; -1: every float32 one
} OpData;

typedef struct {
  const OpCase *c;
  const OpData *data;
  Arena arena;
  Diag diag;
  Graph g;
  int32_t source[OP_INPUTS]; // the tensor that has the operand's given values, -1
  int32_t scale[OP_INPUTS];  // ROLE_SCALED: the batched input
  float *scale_value[OP_INPUTS];
  int32_t zero;              // batched zero that makes an output depend on the samples, or -1
  int32_t y[OP_OUTPUTS];     // outputs of the operator
  GradResult r;
  Program *program;
  void *block;
  void **bound;
} OpGraph;

// Pieces of graphs, for tests that make their own.
int32_t test_tensor(Graph *g, TensorKind kind, DType type, const Shape *shape, void *data);
// A node with one output, which it returns; or with n_out, stored in out[].
int32_t test_node(Graph *g, const char *op, const void *attr, ActKind act, int n_in,
                  const int32_t *in);
void test_node_outputs(Graph *g, const char *op, const void *attr, ActKind act, int n_in,
                       const int32_t *in, int n_out, int32_t *out);

int case_inputs(const OpCase *c);
int case_outputs(const OpCase *c);
int64_t case_numel(const CaseTensor *t);

// Parses options where the case has no attributes, and makes up values. Values of the case are
// those of sample 0; random ones keep away from 0, 1, 6 and -1.
Status opdata_make(const OpCase *c, Arena *arena, OpData *data, Diag *d);
double random_value(bool wide);

typedef enum {
  PLAIN,        // inference
  TRAINED,      // with an MSE loss (sum over samples) against data->label, and gradients
  TRAINED_SUM,  // of the output added to itself
  TRAINED_PAIR, // of the outputs of two such operators on the same operands, added: the same
} Purpose;

// Builds and runs the passes. o->diag has the text of a failure. Drop in any case.
Status opgraph_build(OpGraph *o, const OpCase *c, const OpData *data, const Role *role,
                     Purpose purpose);
Status opgraph_program(OpGraph *o, int32_t samples);
// Runs nodes [from, to) on samples first, first + 1, ... of the data.
void opgraph_run(OpGraph *o, int first, size_t from, size_t to);
// Bytes of a tensor in the last run.
void *opgraph_at(const OpGraph *o, int32_t tensor);
void opgraph_drop(OpGraph *o);

#endif
