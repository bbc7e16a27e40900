// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "base/mem.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static atomic_long fail_after = -1;
static atomic_long count;

static bool may_allocate(void)
{
  atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
  long left = atomic_load_explicit(&fail_after, memory_order_relaxed);
  if (left < 0)
    return true;
  if (left == 0)
    return false;
  atomic_fetch_sub_explicit(&fail_after, 1, memory_order_relaxed);
  return true;
}

void *mem_alloc(size_t bytes)
{
  if (bytes > SIZE_MAX - MEM_ALIGN || !may_allocate())
    return NULL;
  void *p = NULL;
  if (posix_memalign(&p, MEM_ALIGN, bytes ? mem_align_up(bytes) : MEM_ALIGN) != 0)
    return NULL;
  return p;
}

void *mem_zalloc(size_t bytes)
{
  void *p = mem_alloc(bytes);
  if (p)
    memset(p, 0, bytes);
  return p;
}

void mem_free(void *p)
{
  free(p);
}

bool mem_mul(size_t a, size_t b, size_t *result)
{
  return !__builtin_mul_overflow(a, b, result);
}

bool mem_add(size_t a, size_t b, size_t *result)
{
  return !__builtin_add_overflow(a, b, result);
}

void mem_fail_after(long n)
{
  atomic_store(&fail_after, n);
}

long mem_count(void)
{
  return atomic_load(&count);
}
