// SPDX-License-Identifier: Apache-2.0
#include "fb/writer.h"

#include <assert.h>
#include <string.h>

// Appends zeros; returns their position.
static size_t extend(FbWriter *w, size_t n)
{
  size_t at = w->size;
  if (w->failed)
    return 0;
  if (n > INT32_MAX - at) {
    w->failed = true;
    return 0;
  }
  if (at + n > w->capacity) {
    size_t capacity = 2 * (at + n) + 256;
    uint8_t *bytes = arena_alloc(w->arena, capacity);
    if (!bytes) {
      w->failed = true;
      return 0;
    }
    if (at)
      memcpy(bytes, w->bytes, at);
    w->bytes = bytes;
    w->capacity = capacity;
  }
  w->size += n;
  return at;
}

static void put(FbWriter *w, size_t at, const void *value, size_t n)
{
  if (!w->failed && n)
    memcpy(w->bytes + at, value, n);
}

void fb_write_align(FbWriter *w, size_t alignment)
{
  (void)extend(w, (alignment - w->size % alignment) % alignment);
}

void fb_write_header(FbWriter *w, const char *identifier)
{
  size_t at = extend(w, 8);
  put(w, at + 4, identifier, 4);
}

size_t fb_write_table(FbWriter *w, const FbSlot *slots, size_t n)
{
  uint16_t vtable[2 + FB_WRITER_MAX_FIELDS] = {0};
  size_t at[FB_WRITER_MAX_FIELDS], n_fields = 0;
  assert(n <= FB_WRITER_MAX_FIELDS);
  for (size_t i = 0; i < n; ++i)
    if (slots[i].number >= n_fields)
      n_fields = slots[i].number + 1u;
  assert(n_fields <= FB_WRITER_MAX_FIELDS);
  // The table begins at a multiple of 8, so that distances decide alignment; big fields come first.
  size_t table_bytes = 4;
  for (size_t size = 8; size; size /= 2)
    for (size_t i = 0; i < n; ++i)
      if (slots[i].size == size) {
        table_bytes = (table_bytes + size - 1) / size * size;
        at[i] = table_bytes;
        vtable[2 + slots[i].number] = (uint16_t)table_bytes;
        table_bytes += size;
      }
  size_t vtable_bytes = 4 + 2 * n_fields;
  vtable[0] = (uint16_t)vtable_bytes;
  vtable[1] = (uint16_t)table_bytes;
  fb_write_align(w, 2);
  size_t v = extend(w, vtable_bytes);
  put(w, v, vtable, vtable_bytes);
  fb_write_align(w, 8);
  size_t table = extend(w, table_bytes);
  int32_t back = (int32_t)(table - v);
  put(w, table, &back, sizeof back);
  for (size_t i = 0; i < n; ++i)
    if (slots[i].value)
      put(w, table + at[i], slots[i].value, slots[i].size);
  fb_write_align(w, 4);
  return table;
}

size_t fb_written_field(const FbWriter *w, size_t table, int number)
{
  if (w->failed)
    return 0;
  int32_t back;
  uint16_t distance;
  memcpy(&back, w->bytes + table, sizeof back);
  memcpy(&distance, w->bytes + table - (size_t)back + 4 + 2 * (size_t)number, sizeof distance);
  assert(distance);
  return table + distance;
}

size_t fb_write_vector(FbWriter *w, const void *elements, size_t n, size_t size)
{
  uint32_t count = (uint32_t)n;
  if (n > INT32_MAX / size)
    w->failed = true;
  // The elements are aligned, also to the 16 bytes the schema asks of buffers.
  fb_write_align(w, 16);
  (void)extend(w, 12);
  size_t at = extend(w, 4);
  put(w, at, &count, sizeof count);
  size_t data = extend(w, n * size);
  if (elements)
    put(w, data, elements, n * size);
  (void)extend(w, 1);
  fb_write_align(w, 4);
  return at;
}

void fb_point(FbWriter *w, size_t at, size_t target)
{
  uint32_t distance = (uint32_t)(target - at);
  put(w, at, &distance, sizeof distance);
}
