// SPDX-License-Identifier: Apache-2.0
// CONV_CHAIN: convolution, depthwise convolution, convolution as one node, whose tensors in between
// never leave the cache. compile/fuse_chain.c makes it; no model file has it.
#ifndef OPS_CHAIN_H
#define OPS_CHAIN_H

#include "ops/window.h"

enum { CHAIN_STAGES = 3 };

// Inputs: x, the filters of the stages, their biases (-1 or missing: none).
typedef struct {
  WindowAttr window[CHAIN_STAGES];
  ActKind act[CHAIN_STAGES]; // the last one's is Node.act
} ChainAttr;

// Bytes that a worker keeps of the tensors in between: what should fit into a second-level cache.
enum { CHAIN_CACHE = 480 * 1024 };

#endif
