// SPDX-License-Identifier: Apache-2.0
// Properties of the memory planner and the thread pool.
#include "base/mem.h"
#include "base/pool.h"
#include "check.h"
#include "plan/offsets.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { N_ITEMS = 200, N_ROUNDS = 50, N_TASKS = 1000 };

static size_t most_alive(const PlanItem *items, size_t n, int32_t steps)
{
  size_t most = 0;
  for (int32_t s = 0; s < steps; ++s) {
    size_t alive = 0;
    for (size_t i = 0; i < n; ++i)
      if (items[i].first <= s && s <= items[i].last)
        alive += mem_align_up(items[i].bytes);
    if (alive > most)
      most = alive;
  }
  return most;
}

static void items_alive_together_do_not_overlap(void)
{
  PlanItem items[N_ITEMS];
  for (int round = 0; round < N_ROUNDS; ++round) {
    for (size_t i = 0; i < N_ITEMS; ++i) {
      int32_t first = rand() % 100;
      size_t bytes = rand() % 10 ? (size_t)(rand() % 5000) : 0;
      items[i] = (PlanItem){bytes, first, first + rand() % 20, 77};
    }
    size_t total = 0;
    CHECK_EQUAL(plan_offsets(items, N_ITEMS, &total), ST_OK);
    for (size_t i = 0; i < N_ITEMS; ++i) {
      CHECK_EQUAL(items[i].offset % MEM_ALIGN, 0);
      CHECK(items[i].offset + items[i].bytes <= total);
      for (size_t k = 0; k < i; ++k) {
        const PlanItem *a = &items[i], *b = &items[k];
        if (a->first > b->last || b->first > a->last || !a->bytes || !b->bytes)
          continue;
        CHECK(a->offset >= b->offset + b->bytes || b->offset >= a->offset + a->bytes);
      }
    }
    // Greedy packing is not optimal; it must not be wasteful either.
    CHECK(total <= most_alive(items, N_ITEMS, 120) * 3 / 2);
  }
}

static void chain_needs_two_buffers(void)
{
  PlanItem items[20];
  for (int32_t i = 0; i < 20; ++i)
    items[i] = (PlanItem){640, i, i + 1, 0};
  size_t total = 0;
  CHECK_EQUAL(plan_offsets(items, 20, &total), ST_OK);
  CHECK_EQUAL(total, 1280);
}

typedef struct {
  atomic_int done[N_TASKS];
  int n_threads;
  atomic_int bad_worker;
} Seen;

static void mark(void *context, int task, int worker)
{
  Seen *s = context;
  atomic_fetch_add(&s->done[task], 1);
  if (worker < 0 || worker >= s->n_threads)
    atomic_fetch_add(&s->bad_worker, 1);
}

static void every_task_runs_once(void)
{
  static Seen seen;
  for (int threads = 1; threads <= 8; ++threads) {
    Pool *p = NULL;
    CHECK_EQUAL(pool_create(threads, &p), ST_OK);
    CHECK_EQUAL(pool_threads(p), threads);
    for (int round = 0; round < 200; ++round) {
      int n = rand() % N_TASKS;
      memset(&seen, 0, sizeof seen);
      seen.n_threads = threads;
      pool_run(p, n, mark, &seen);
      for (int i = 0; i < N_TASKS; ++i)
        CHECK_EQUAL(seen.done[i], i < n);
      CHECK_EQUAL(seen.bad_worker, 0);
    }
    pool_destroy(p);
  }
}

int main(void)
{
  srand(11);
  items_alive_together_do_not_overlap();
  chain_needs_two_buffers();
  every_task_runs_once();
  return check_result();
}
