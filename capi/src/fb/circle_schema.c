// SPDX-License-Identifier: Apache-2.0
#include "fb/circle_schema.h"

#define SCALAR(bytes) {.kind = FB_SCALAR, .size = bytes}
#define S1 SCALAR(1)
#define S4 SCALAR(4)
#define S8 SCALAR(8)
#define VECTOR(bytes) {.kind = FB_VECTOR, .size = bytes}
#define STRING {.kind = FB_STRING}
#define UNUSED {.kind = FB_UNUSED}
#define TAG {.kind = FB_UNION_TAG}
#define UNION(list) {.kind = FB_UNION, .members = list}
#define CHILD(table) {.kind = FB_TABLE, .child = &fb_##table}
#define TABLES(table) {.kind = FB_TABLES, .child = &fb_##table}
#define LAST {.kind = FB_END}

#define OPTIONS(tag, name, ...)                                                                    \
  static const FbField name##_fields[] = {__VA_ARGS__, LAST};                                      \
  static const FbSchema name##_options = {#name "Options", name##_fields};
#include "fb/circle_options.list"
#undef OPTIONS

const FbMember fb_builtin_options[] = {
#define OPTIONS(tag, name, ...) {tag, &name##_options},
#include "fb/circle_options.list"
#undef OPTIONS
  {0, NULL},
};

static const FbMember index_vectors[] = {
  {1, &fb_Int32Vector}, {2, &fb_Uint16Vector}, {3, &fb_Uint8Vector}, {0, NULL}};
static const FbMember train_optimizers[] = {{1, &fb_TrainSgd}, {2, &fb_TrainAdam}, {0, NULL}};
static const FbMember train_losses[] = {
  {1, &fb_TrainLoss}, {2, &fb_TrainLoss}, {3, &fb_TrainLoss}, {0, NULL}};

#define TABLE(name) static const FbField name##_fields[] = {
#define FIELD(name, kind) kind,
#define END(name)                                                                                  \
  LAST                                                                                             \
  }                                                                                                \
  ;                                                                                                \
  const FbSchema fb_##name = {#name, name##_fields};
#include "fb/circle_schema.def"
