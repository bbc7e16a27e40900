// SPDX-License-Identifier: Apache-2.0
// A small flatbuffer writer that goes from front to back, as offsets do: a table is written with
// empty offset fields, what they point to later, and fb_point joins the two. Positions are offsets
// in `bytes`.
#ifndef FB_WRITER_H
#define FB_WRITER_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  Arena *arena;
  uint8_t *bytes;
  size_t size, capacity;
  bool failed; // memory ran short; all further calls do nothing and return 0
} FbWriter;

typedef struct {
  uint8_t number;    // of the field
  uint8_t size;      // 1, 4 or 8 bytes; an offset has 4
  const void *value; // NULL: zeros, for an offset that fb_point sets
} FbSlot;

enum { FB_WRITER_MAX_FIELDS = 16 };

// Room for the root offset and the identifier, at position 0.
void fb_write_header(FbWriter *w, const char *identifier);
// A table with its vtable; returns the table's position. Up to FB_WRITER_MAX_FIELDS fields.
size_t fb_write_table(FbWriter *w, const FbSlot *slots, size_t n);
// Position of a field that the table was written with.
size_t fb_written_field(const FbWriter *w, size_t table, int number);
// A vector of `n` elements of `size` bytes each, `elements` NULL: zeros; also a string's, with the
// NUL that follows. Returns the position of its count; elements stand 4 bytes later.
size_t fb_write_vector(FbWriter *w, const void *elements, size_t n, size_t size);
// Stores at `at` the offset to `target`, which stands behind it.
void fb_point(FbWriter *w, size_t at, size_t target);
// Fills up to a multiple of `alignment`, a power of two.
void fb_write_align(FbWriter *w, size_t alignment);

#endif
