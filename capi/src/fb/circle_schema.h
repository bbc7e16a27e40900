// SPDX-License-Identifier: Apache-2.0
// The tables of circle and TFLite models and of the training information (CTR0) that a circle file
// may carry, as data for the verifier, and the numbers of their fields: <TABLE>_<FIELD>.
// circle_schema.def is the list; options tables of operators stand in circle_options.list, where
// the operators that read them know their field numbers.
#ifndef FB_CIRCLE_SCHEMA_H
#define FB_CIRCLE_SCHEMA_H

#include "fb/reader.h"

#define TABLE(name) enum {
#define FIELD(name, kind) name,
#define END(name)                                                                                  \
  }                                                                                                \
  ;                                                                                                \
  extern const FbSchema fb_##name;
#include "fb/circle_schema.def"
#undef TABLE
#undef FIELD
#undef END

// Options tables that the verifier follows, by union tag. What is not here has no fields, or none
// that this library reads.
extern const FbMember fb_builtin_options[];

#endif
