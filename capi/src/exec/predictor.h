// SPDX-License-Identifier: Apache-2.0
// A model prepared for inference with given input shapes.
#ifndef EXEC_PREDICTOR_H
#define EXEC_PREDICTOR_H

#include "base/pool.h"
#include "graph/graph.h"

typedef struct Predictor Predictor;

// `shapes` replaces the shapes of the inputs where not NULL ([n_inputs]). `model` must outlive the
// result, which reads its constants.
Status predictor_create(const Graph *model, const Shape *shapes, Pool *pool, Predictor **out,
                        Diag *d) MUST_USE;
void predictor_destroy(Predictor *p);

const Graph *predictor_graph(const Predictor *p);
size_t predictor_bytes(const Predictor *p, int32_t tensor);

// Buffers are dense; entries of `outputs` that are NULL are not written.
void predictor_run(Predictor *p, const void *const *inputs, void *const *outputs);

#endif
