// SPDX-License-Identifier: Apache-2.0
// The one door to the heap. Every block is aligned to MEM_ALIGN bytes, enough for any vector unit
// the kernels use.
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>

enum { MEM_ALIGN = 64 };

// Returns NULL when memory is short. A size of 0 gives a valid pointer.
void *mem_alloc(size_t bytes);
void *mem_zalloc(size_t bytes);
void mem_free(void *p);

// a*b and a+b; false where the result does not fit size_t.
bool mem_mul(size_t a, size_t b, size_t *result);
bool mem_add(size_t a, size_t b, size_t *result);

static inline size_t mem_align_up(size_t bytes)
{
  return (bytes + MEM_ALIGN - 1) & ~(size_t)(MEM_ALIGN - 1);
}

// For tests: the allocation after `n` further ones fails, as do all later ones; -1 turns it off.
void mem_fail_after(long n);
// For tests: allocations made by this process so far.
long mem_count(void);

#endif
