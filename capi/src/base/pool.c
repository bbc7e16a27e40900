// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "base/pool.h"

#include "base/mem.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

// A waiting worker spins this often before it sleeps: a training step is thousands of short
// loops, and a futex round trip costs more than most of them.
enum { SPINS = 4000, MAX_THREADS = 256 };
// Pool.state: the workers in the current loop, and whether more may enter it.
enum { LOOP_OPEN = 1 << 16 };

typedef struct {
  Pool *pool;
  int index;
  pthread_t thread;
} Worker;

struct Pool {
  int n_threads;
  PoolTask task;
  void *context;
  int n_tasks;
  atomic_int next_task;
  atomic_uint state;       // LOOP_OPEN + number of workers inside
  atomic_uint generation;  // counts loops; a change wakes the workers
  atomic_bool stop;
  atomic_int sleepers;
  pthread_mutex_t mutex;
  pthread_cond_t wake;
  Worker *workers; // n_threads - 1
  int n_started;
};

static inline void pause_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  __asm__ volatile("yield");
#endif
}

static void drain(Pool *p, int worker)
{
  for (;;) {
    int i = atomic_fetch_add_explicit(&p->next_task, 1, memory_order_relaxed);
    if (i >= p->n_tasks)
      return;
    p->task(p->context, i, worker);
  }
}

// A worker that wakes late finds the loop closed: nobody waits for it, nor does it touch the fields.
static bool enter_loop(Pool *p)
{
  unsigned s = atomic_load_explicit(&p->state, memory_order_relaxed);
  do {
    if (!(s & LOOP_OPEN))
      return false;
  } while (!atomic_compare_exchange_weak_explicit(&p->state, &s, s + 1, memory_order_acquire,
                                                  memory_order_relaxed));
  return true;
}

static void wait_for_loop(Pool *p, unsigned seen)
{
  for (int i = 0; i < SPINS; ++i) {
    if (atomic_load_explicit(&p->generation, memory_order_acquire) != seen)
      return;
    pause_cpu();
  }
  pthread_mutex_lock(&p->mutex);
  atomic_fetch_add(&p->sleepers, 1);
  while (atomic_load(&p->generation) == seen)
    pthread_cond_wait(&p->wake, &p->mutex);
  atomic_fetch_sub(&p->sleepers, 1);
  pthread_mutex_unlock(&p->mutex);
}

static void *work(void *argument)
{
  Worker *w = argument;
  Pool *p = w->pool;
  unsigned seen = 0;
  for (;;) {
    wait_for_loop(p, seen);
    seen = atomic_load_explicit(&p->generation, memory_order_acquire);
    if (atomic_load(&p->stop))
      return NULL;
    if (enter_loop(p)) {
      drain(p, w->index);
      atomic_fetch_sub_explicit(&p->state, 1, memory_order_release);
    }
  }
}

static void start_loop(Pool *p)
{
  atomic_fetch_add(&p->generation, 1);
  if (atomic_load(&p->sleepers) > 0) {
    pthread_mutex_lock(&p->mutex);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->mutex);
  }
}

Status pool_create(int n_threads, Pool **out)
{
  *out = NULL;
  if (n_threads < 1)
    n_threads = 1;
  if (n_threads > MAX_THREADS)
    n_threads = MAX_THREADS;
  Pool *p = mem_zalloc(sizeof *p);
  if (!p)
    return ST_OOM;
  p->n_threads = n_threads;
  pthread_mutex_init(&p->mutex, NULL);
  pthread_cond_init(&p->wake, NULL);
  p->workers = mem_zalloc(sizeof(Worker) * (size_t)n_threads);
  if (!p->workers) {
    pool_destroy(p);
    return ST_OOM;
  }
  for (int i = 1; i < n_threads; ++i) {
    Worker *w = &p->workers[i - 1];
    w->pool = p;
    w->index = i;
    if (pthread_create(&w->thread, NULL, work, w) != 0) {
      pool_destroy(p);
      return ST_OOM;
    }
    p->n_started = i;
  }
  *out = p;
  return ST_OK;
}

void pool_destroy(Pool *p)
{
  if (!p)
    return;
  atomic_store(&p->stop, true);
  pthread_mutex_lock(&p->mutex);
  atomic_fetch_add(&p->generation, 1);
  pthread_cond_broadcast(&p->wake);
  pthread_mutex_unlock(&p->mutex);
  for (int i = 0; i < p->n_started; ++i)
    pthread_join(p->workers[i].thread, NULL);
  pthread_cond_destroy(&p->wake);
  pthread_mutex_destroy(&p->mutex);
  mem_free(p->workers);
  mem_free(p);
}

int pool_threads(const Pool *p)
{
  return p ? p->n_threads : 1;
}

void pool_run(Pool *p, int n_tasks, PoolTask task, void *context)
{
  if (!p || p->n_threads == 1 || n_tasks <= 1) {
    for (int i = 0; i < n_tasks; ++i)
      task(context, i, 0);
    return;
  }
  p->task = task;
  p->context = context;
  p->n_tasks = n_tasks;
  atomic_store_explicit(&p->next_task, 0, memory_order_relaxed);
  atomic_store_explicit(&p->state, LOOP_OPEN, memory_order_release);
  start_loop(p);
  drain(p, 0);
  atomic_fetch_and_explicit(&p->state, ~(unsigned)LOOP_OPEN, memory_order_relaxed);
  // Workers inside must have left before the next loop may reuse the fields. They may need this
  // core (more threads than cores), hence the yield.
  for (int i = 0; atomic_load_explicit(&p->state, memory_order_acquire) > 0; ++i) {
    if (i < SPINS)
      pause_cpu();
    else
      sched_yield();
  }
}

// Cores that cgroup v2 or v1 grants, or 0 where it sets no limit.
static int quota(void)
{
  long max = 0, period = 0;
  FILE *f = fopen("/sys/fs/cgroup/cpu.max", "re");
  if (f) {
    if (fscanf(f, "%ld %ld", &max, &period) != 2)
      max = 0;
    fclose(f);
  } else {
    if ((f = fopen("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "re"))) {
      if (fscanf(f, "%ld", &max) != 1)
        max = 0;
      fclose(f);
    }
    if ((f = fopen("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "re"))) {
      if (fscanf(f, "%ld", &period) != 1)
        period = 0;
      fclose(f);
    }
  }
  return max > 0 && period > 0 ? (int)((max + period - 1) / period) : 0;
}

int pool_default_threads(void)
{
  int n = 1;
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    n = CPU_COUNT(&set);
  else
#endif
    n = (int)sysconf(_SC_NPROCESSORS_ONLN);
  int q = quota();
  if (q > 0 && q < n)
    n = q;
  return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : n;
}
