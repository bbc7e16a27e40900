// SPDX-License-Identifier: Apache-2.0
// Reading flatbuffers that come from anywhere. A buffer is verified once against a description of
// its tables (fb_verify); the accessors then only read what the verifier has walked over.
#ifndef FB_READER_H
#define FB_READER_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A table inside a verified buffer. at = 0 is an absent table: all its fields are absent.
typedef struct {
  const uint8_t *buffer;
  uint32_t at;
} FbTable;

// A vector; n = 0 also where it is absent (present tells).
typedef struct {
  const uint8_t *buffer;
  uint32_t at; // offset of element 0
  uint32_t n;
  bool present;
} FbVector;

// `field` is the number of the field in its schema (slot 4 + 2 * field).
bool fb_has(FbTable t, int field);
uint8_t fb_u8(FbTable t, int field, uint8_t otherwise);
int8_t fb_i8(FbTable t, int field, int8_t otherwise);
bool fb_bool(FbTable t, int field, bool otherwise);
int32_t fb_i32(FbTable t, int field, int32_t otherwise);
uint32_t fb_u32(FbTable t, int field, uint32_t otherwise);
int64_t fb_i64(FbTable t, int field, int64_t otherwise);
uint64_t fb_u64(FbTable t, int field, uint64_t otherwise);
float fb_f32(FbTable t, int field, float otherwise);
FbTable fb_table(FbTable t, int field);
FbVector fb_vector(FbTable t, int field);
// Bytes of a string and their count; "" and 0 where it is absent. Not cut at embedded NULs.
const char *fb_string(FbTable t, int field, size_t *length);

// Elements; `i` must be below n.
int32_t fb_vec_i32(FbVector v, uint32_t i);
int64_t fb_vec_i64(FbVector v, uint32_t i);
float fb_vec_f32(FbVector v, uint32_t i);
FbTable fb_vec_table(FbVector v, uint32_t i);

// Offset in the buffer of a scalar field's bytes, or 0 where the field is absent. For patching.
uint32_t fb_field_offset(FbTable t, int field);

// ---- verifying ----

typedef enum {
  FB_END, FB_UNUSED, // a field that is not looked at
  FB_SCALAR,       // `size` bytes
  FB_STRING,
  FB_VECTOR,       // of scalars of `size` bytes
  FB_TABLE,        // `child`
  FB_TABLES,       // vector of `child`
  FB_STRINGS,
  FB_UNION_TAG,    // one byte; the union's table is the next field
  FB_UNION,        // `members`, by tag
} FbKind;

typedef struct FbSchema FbSchema;
typedef struct {
  int tag;
  const FbSchema *table;
} FbMember;
typedef struct {
  FbKind kind;
  uint8_t size;
  const FbSchema *child;
  const FbMember *members; // ends with tag 0; tables of other tags are not followed
} FbField;
struct FbSchema {
  const char *name;
  const FbField *fields; // in the order of field numbers, ends with FB_END
};

// Checks the whole buffer against `root` and returns its root table. `identifier` is what bytes
// 4..7 must be, or NULL: a buffer without one. Errors name the table, the field and the offset.
Status fb_verify(const uint8_t *buffer, size_t size, const char *identifier, const FbSchema *root,
                 FbTable *out, Diag *d) MUST_USE;

#endif
