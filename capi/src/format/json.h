// SPDX-License-Identifier: Apache-2.0
// A strict JSON reader (RFC 8259) for the small manifests of packages.
#ifndef FORMAT_JSON_H
#define FORMAT_JSON_H

#include "base/arena.h"
#include "base/diag.h"

typedef enum { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } JsonKind;

typedef struct Json Json;
struct Json {
  JsonKind kind;
  int line;           // where it begins, from 1
  const char *key;    // of a member of an object
  const char *text;   // of a string, decoded to UTF-8; of a number or bool, as written
  const Json *first;  // of an array or object
  const Json *next;   // behind this one in its array or object
};

// The value that `text` holds, in `arena`. Errors name `label` and the line.
Status json_read(const char *text, size_t length, const char *label, Arena *arena,
                  const Json **value, Diag *d) MUST_USE;

// A member of an object; NULL where it has none of that name or is no object.
const Json *json_member(const Json *object, const char *key);

#endif
