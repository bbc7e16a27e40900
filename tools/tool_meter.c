// SPDX-License-Identifier: Apache-2.0
// Time and memory of the phases of a tool.
#include "tool_meter.h"

#include "tool.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { POLL_MS = 100 };
enum { RSS, HWM, PSS, KINDS };

static const struct {
  const char *name, *file, *key;
} kinds[KINDS] = {
  [RSS] = {"RSS", "/proc/self/status", "VmRSS:"},
  [HWM] = {"HWM", "/proc/self/status", "VmHWM:"},
  [PSS] = {"PSS", "/proc/self/smaps_rollup", "Pss:"},
};

static struct {
  Phase phase; // the current one; PHASE_COUNT: none
  double begin, time[PHASE_COUNT];
  bool polling, stop;
  pthread_t thread;
  pthread_mutex_t lock; // of what stands above and below
  pthread_cond_t wake;
  long peak_kb[KINDS][PHASE_COUNT];
} meter = {.phase = PHASE_COUNT,
           .lock = PTHREAD_MUTEX_INITIALIZER,
           .wake = PTHREAD_COND_INITIALIZER};

double meter_now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static long read_kb(const char *file, const char *key)
{
  char line[256];
  long kb = 0;
  FILE *f = fopen(file, "r");
  if (!f)
    return 0;
  while (fgets(line, sizeof line, f))
    if (strncmp(line, key, strlen(key)) == 0) {
      sscanf(line + strlen(key), "%ld", &kb);
      break;
    }
  fclose(f);
  return kb;
}

// With the lock held.
static void sample_memory(void)
{
  if (!meter.polling || meter.phase == PHASE_COUNT)
    return;
  for (int k = 0; k < KINDS; ++k) {
    long kb = read_kb(kinds[k].file, kinds[k].key);
    if (kb > meter.peak_kb[k][meter.phase])
      meter.peak_kb[k][meter.phase] = kb;
  }
}

static void *poll_memory(void *unused)
{
  (void)unused;
  pthread_mutex_lock(&meter.lock);
  while (!meter.stop) {
    sample_memory();
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += POLL_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&meter.wake, &meter.lock, &until);
  }
  pthread_mutex_unlock(&meter.lock);
  return NULL;
}

void meter_poll_memory(void)
{
  meter.polling = true;
  if (pthread_create(&meter.thread, NULL, poll_memory, NULL) != 0)
    tool_fail(EXIT_BAD_RUN, "E: cannot start the thread that polls memory");
}

void meter_begin(Phase phase)
{
  meter_end();
  pthread_mutex_lock(&meter.lock);
  meter.phase = phase;
  sample_memory();
  meter.begin = meter_now();
  pthread_mutex_unlock(&meter.lock);
}

void meter_end(void)
{
  pthread_mutex_lock(&meter.lock);
  if (meter.phase != PHASE_COUNT)
    meter.time[meter.phase] = meter_now() - meter.begin;
  sample_memory();
  meter.phase = PHASE_COUNT;
  pthread_mutex_unlock(&meter.lock);
}

double meter_time(Phase phase)
{
  return meter.time[phase];
}

const char *meter_name(Phase phase)
{
  static const char *const names[PHASE_COUNT] = {"MODEL_LOAD  ", "PREPARE     ", "EXECUTE     "};
  return names[phase];
}

void meter_print_rule(void)
{
  puts("===================================");
}

static long peak(const long *kb)
{
  long most = 0;
  for (Phase p = 0; p < PHASE_COUNT; ++p)
    most = kb[p] > most ? kb[p] : most;
  return most;
}

void meter_print_memory(bool peaks)
{
  if (!meter.polling)
    return;
  pthread_mutex_lock(&meter.lock);
  meter.stop = true;
  pthread_cond_signal(&meter.wake);
  pthread_mutex_unlock(&meter.lock);
  pthread_join(meter.thread, NULL);
  meter.polling = false;
  for (int k = 0; k < KINDS; ++k) {
    puts(kinds[k].name);
    for (Phase p = 0; p < PHASE_COUNT; ++p)
      printf("- %s takes %ld kb\n", meter_name(p), meter.peak_kb[k][p]);
    if (peaks)
      printf("- %-12s takes %ld kb\n", "PEAK", peak(meter.peak_kb[k]));
    meter_print_rule();
  }
  if (peaks) {
    printf("Used Peak Memory : %ld kb\n", peak(meter.peak_kb[HWM]));
    meter_print_rule();
  }
}
