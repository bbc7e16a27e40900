// SPDX-License-Identifier: Apache-2.0
// A fixed set of threads that share out the tasks of one parallel loop at a time.
//
// Work is cut by the problem, never by the number of threads: a task computes the same bits
// whichever thread runs it, so results do not depend on the thread count.
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "base/status.h"

typedef struct Pool Pool;

// `worker` is below pool_threads(): index of per-thread scratch.
typedef void (*PoolTask)(void *context, int task, int worker);

// n_threads >= 1, the caller's thread included; 1 starts none.
Status pool_create(int n_threads, Pool **out) MUST_USE;
void pool_destroy(Pool *p);
// 1 for a NULL pool.
int pool_threads(const Pool *p);

// Runs task 0 .. n_tasks-1 and returns when all are done. A NULL pool runs them in order on the
// caller's thread. One caller at a time; a task must not call pool_run on the same pool.
void pool_run(Pool *p, int n_tasks, PoolTask task, void *context);

// min(CPU affinity, cgroup quota), at least 1.
int pool_default_threads(void);

#endif
