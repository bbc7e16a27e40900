// SPDX-License-Identifier: Apache-2.0
// Joins convolution, depthwise convolution and convolution in a row into one node, where the
// tensors in between are too large for a cache.
//
//   before: e = CONV_2D(x); d = DEPTHWISE_CONV_2D(e); y = CONV_2D(d)      after: y = CONV_CHAIN(x)
//
// Its gradient computes them again, a band of rows at a time, which costs less than reading them
// from memory, and needs no memory for them.
#ifndef COMPILE_FUSE_CHAIN_H
#define COMPILE_FUSE_CHAIN_H

#include "graph/graph.h"

typedef struct {
  size_t min_bytes;  // joined where both tensors in between have as many, all samples together
  int32_t samples;
  bool is_trained;   // the node gets a gradient: only what CONV_CHAIN can differentiate is joined
} ChainRule;

// What is worth it: more than second-level caches hold; in training, where the gradient computes
// what is in between once more, much more.
enum { CHAIN_MIN_BYTES = 1024 * 1024, CHAIN_TRAIN_BYTES = 8 * 1024 * 1024 };

Status chain_pass(Graph *g, const ChainRule *rule, Diag *d) MUST_USE;

#endif
