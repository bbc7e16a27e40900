// SPDX-License-Identifier: Apache-2.0
// A graph made ready to run for one number of samples: kernels bound, memory planned. Running it
// allocates nothing and cannot fail.
#ifndef EXEC_PROGRAM_H
#define EXEC_PROGRAM_H

#include "graph/graph.h"
#include "ops/op.h"

typedef struct {
  const Graph *graph;
  int32_t samples;
  int threads;
  bool constants_stay;        // see SelectTarget
  size_t n_forward;           // see PlanRequest
  const int32_t *keep;
  size_t n_keep;
  const int32_t *keep_to_end;
  size_t n_keep_to_end;
} ProgramRequest;

typedef struct Program Program;

Status program_build(const ProgramRequest *request, Program **out, Diag *d) MUST_USE;
void program_destroy(Program *p);

int32_t program_samples(const Program *p);
size_t program_bytes(const Program *p); // of the block that holds intermediate tensors

// What a run works on.
typedef struct {
  void *block;          // program_bytes(), aligned to MEM_ALIGN
  void *const *inputs;  // [n_tensors of the graph] caller's buffers of TK_INPUT tensors
  Pool *pool;
  const Hyper *hyper;
} ProgramRun;

// Runs nodes [from, to).
void program_run(const Program *p, const ProgramRun *run, size_t from, size_t to);
// Where a tensor's bytes stand during this run.
void *program_address(const Program *p, const ProgramRun *run, int32_t tensor);

#endif
