// SPDX-License-Identifier: Apache-2.0
// The little JSON that options carry: arrays of unsigned integers and of such arrays. Everything
// else is recognized, to tell text that is no JSON from JSON that is not wanted, but not kept.
#ifndef TOOL_JSON_H
#define TOOL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { JSON_UINT, JSON_ARRAY, JSON_OTHER } JsonKind;

typedef struct Json {
  JsonKind kind;
  uint64_t number;    // of a UINT
  struct Json *items; // [n_items] of an ARRAY, owned
  size_t n_items;
} Json;

// False if the text is not JSON. *json is to be freed with json_free either way.
bool json_parse(const char *text, Json *json);
void json_free(Json *json);

// Reads `--output_sizes`, [index, bytes, index, bytes, ...], and calls `take` for each pair. Exits
// where it is anything else. NULL text: nothing.
void json_output_sizes(const char *text, void (*take)(void *user, uint64_t index, uint64_t bytes),
                       void *user);

#endif
