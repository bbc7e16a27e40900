// SPDX-License-Identifier: Apache-2.0
// Memory that lives and dies together: objects are carved from chunks and freed all at once.
// Building something that may fail therefore needs no clean-up ladder: drop the arena.
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

typedef struct ArenaChunk ArenaChunk;

typedef struct {
  ArenaChunk *chunks;
} Arena;

// Zeroed memory aligned to 16 bytes, or NULL when memory is short.
void *arena_alloc(Arena *a, size_t bytes);
// Zeroed array; NULL also where n * size overflows.
void *arena_array(Arena *a, size_t n, size_t size);
void *arena_copy(Arena *a, const void *bytes, size_t n);
char *arena_string(Arena *a, const char *text, size_t length);

// Makes room for element n of a growing array: returns the array, moved when it had to grow
// (the old one stays valid until the arena goes), or NULL when memory is short.
void *arena_reserve(Arena *a, void *array, size_t n, size_t *capacity, size_t size);

void arena_drop(Arena *a);

#endif
