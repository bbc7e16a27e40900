// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"

#include "base/mem.h"

#include <stdalign.h>
#include <string.h>

enum { CHUNK_BYTES = 16 * 1024, ALIGN = 16 };

struct ArenaChunk {
  ArenaChunk *next;
  size_t used, size;
  alignas(16) unsigned char bytes[];
};

void *arena_alloc(Arena *a, size_t bytes)
{
  size_t need = 0;
  if (!mem_add(bytes, ALIGN - 1, &need))
    return NULL;
  need &= ~(size_t)(ALIGN - 1);
  ArenaChunk *c = a->chunks;
  if (!c || c->size - c->used < need) {
    size_t size = need > CHUNK_BYTES ? need : CHUNK_BYTES;
    size_t total = 0;
    if (!mem_add(size, sizeof(ArenaChunk), &total) || !(c = mem_alloc(total)))
      return NULL;
    c->used = 0;
    c->size = size;
    c->next = a->chunks;
    a->chunks = c;
  }
  void *p = c->bytes + c->used;
  c->used += need;
  memset(p, 0, need);
  return p;
}

void *arena_array(Arena *a, size_t n, size_t size)
{
  size_t bytes = 0;
  return mem_mul(n, size, &bytes) ? arena_alloc(a, bytes) : NULL;
}

void *arena_copy(Arena *a, const void *bytes, size_t n)
{
  void *p = arena_alloc(a, n);
  if (p && n)
    memcpy(p, bytes, n);
  return p;
}

char *arena_string(Arena *a, const char *text, size_t length)
{
  char *p = arena_alloc(a, length + 1);
  if (p && length)
    memcpy(p, text, length);
  return p;
}

void *arena_reserve(Arena *a, void *array, size_t n, size_t *capacity, size_t size)
{
  if (n < *capacity)
    return array;
  size_t bigger = *capacity ? *capacity * 2 : 16;
  void *p = arena_array(a, bigger, size);
  if (!p)
    return NULL;
  if (n)
    memcpy(p, array, n * size);
  *capacity = bigger;
  return p;
}

void arena_drop(Arena *a)
{
  for (ArenaChunk *c = a->chunks; c;) {
    ArenaChunk *next = c->next;
    mem_free(c);
    c = next;
  }
  a->chunks = NULL;
}
