// SPDX-License-Identifier: Apache-2.0
// Runs the kernel checks of all families on all ISAs of this machine.
// Usage: checkkern [--filter FAMILY] [--isa NAME] [--seed N] [--rounds N] [--bench]
#define _POSIX_C_SOURCE 200809L
#include "checkkern.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GUARD = 64, GUARD_BYTE = 0xA5, POISON_BYTE = 0xFF, MAX_MESSAGES = 40 };

static void *alloc(size_t bytes)
{
  void *p = NULL;
  if (posix_memalign(&p, 64, bytes ? bytes : 1) != 0) {
    fprintf(stderr, "checkkern: no memory for %zu bytes\n", bytes);
    exit(2);
  }
  return p;
}

static uint64_t hash(const void *data, size_t bytes)
{
  const unsigned char *p = data;
  uint64_t h = 14695981039346656037u;
  for (size_t i = 0; i < bytes; ++i)
    h = (h ^ p[i]) * 1099511628211u;
  return h;
}

static bool guards_intact(const CheckBuffer *b)
{
  for (const unsigned char *p = b->block; p < (unsigned char *)b->data; ++p)
    if (*p != GUARD_BYTE)
      return false;
  const unsigned char *end = (const unsigned char *)b->data + b->bytes;
  for (int i = 0; i < GUARD; ++i)
    if (end[i] != GUARD_BYTE)
      return false;
  return true;
}

static void end_case(Check *c)
{
  for (int i = 0; i < c->n_buffers; ++i) {
    CheckBuffer *b = &c->buffers[i];
    if (b->is_output && !guards_intact(b))
      check_fail(c, "writes outside buffer %d of %zu bytes", i, b->bytes);
    if (!b->is_output && b->hash && hash(b->data, b->bytes) != b->hash)
      check_fail(c, "changes its input %d of %zu bytes", i, b->bytes);
    free(b->block);
  }
  c->n_buffers = 0;
}

void check_case(Check *c, const char *format, ...)
{
  end_case(c);
  va_list args;
  va_start(args, format);
  vsnprintf(c->name, sizeof c->name, format, args);
  va_end(args);
  ++c->n_cases;
}

void check_fail(Check *c, const char *format, ...)
{
  if (++c->n_failures > MAX_MESSAGES)
    return;
  printf("FAIL %s %s: %s: ", c->family, cpu_isa_name(c->isa), c->name);
  va_list args;
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  printf("\n");
}

Pool *check_pool(const Check *c, int i)
{
  return c->pools[i];
}

// splitmix64
uint64_t check_random(Check *c)
{
  uint64_t z = (c->random += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

int64_t check_int(Check *c, int64_t lo, int64_t hi)
{
  return lo + (int64_t)(check_random(c) % (uint64_t)(hi - lo + 1));
}

int64_t check_size(Check *c, int64_t lo, int64_t hi)
{
  int64_t n;
  switch (check_int(c, 0, 5)) {
  case 0:
    n = check_int(c, lo, hi);
    break;
  case 1:
    n = check_int(c, 1, 8) * 16 + check_int(c, -1, 1);
    break;
  default:
    n = check_int(c, lo, lo + 18);
    break;
  }
  return n < lo ? lo : n > hi ? hi : n;
}

float check_float(Check *c, float lo, float hi)
{
  double u = (double)(check_random(c) >> 11) * 0x1p-53;
  return (float)(lo + u * ((double)hi - lo));
}

static CheckBuffer *add_buffer(Check *c)
{
  if (c->n_buffers == CHECK_MAX_BUFFERS) {
    fprintf(stderr, "checkkern: %s: more than %d buffers\n", c->name, CHECK_MAX_BUFFERS);
    exit(2);
  }
  CheckBuffer *b = &c->buffers[c->n_buffers++];
  *b = (CheckBuffer){0};
  return b;
}

static void *add_input(Check *c, size_t bytes, size_t offset)
{
  CheckBuffer *b = add_buffer(c);
  b->block = alloc(offset + bytes);
  b->data = b->block + offset;
  b->bytes = bytes;
  return b->data;
}

static void *add_output(Check *c, size_t bytes, size_t offset)
{
  CheckBuffer *b = add_buffer(c);
  size_t before = GUARD + offset;
  b->block = alloc(before + bytes + GUARD);
  b->data = b->block + before;
  b->bytes = bytes;
  b->is_output = true;
  memset(b->block, GUARD_BYTE, before + bytes + GUARD);
  memset(b->data, POISON_BYTE, bytes);
  return b->data;
}

void check_input_changed(Check *c, const void *data)
{
  for (int i = 0; i < c->n_buffers; ++i)
    if (c->buffers[i].data == data && !c->buffers[i].is_output)
      c->buffers[i].hash = hash(data, c->buffers[i].bytes);
}

float *check_input(Check *c, int64_t n, float lo, float hi)
{
  float *p = add_input(c, (size_t)n * sizeof *p, 4);
  for (int64_t i = 0; i < n; ++i)
    p[i] = check_float(c, lo, hi);
  check_input_changed(c, p);
  return p;
}

float *check_output(Check *c, int64_t n, const float *from)
{
  return check_output_bytes(c, n, sizeof *from, from);
}

void *check_input_bytes(Check *c, int64_t n, int element_bytes)
{
  size_t bytes = (size_t)(n * element_bytes);
  unsigned char *p = add_input(c, bytes, (size_t)element_bytes);
  for (size_t i = 0; i < bytes; ++i)
    p[i] = (unsigned char)check_random(c);
  check_input_changed(c, p);
  return p;
}

void *check_output_bytes(Check *c, int64_t n, int element_bytes, const void *from)
{
  size_t bytes = (size_t)(n * element_bytes);
  void *p = add_output(c, bytes, (size_t)element_bytes);
  if (from && bytes)
    memcpy(p, from, bytes);
  return p;
}

void *check_scratch(Check *c, size_t bytes)
{
  return add_output(c, bytes, 0);
}

double *check_doubles(Check *c, int64_t n)
{
  double *p = add_input(c, (size_t)n * sizeof *p, 0);
  memset(p, 0, (size_t)n * sizeof *p);
  return p;
}

bool check_near(Check *c, const char *what, const float *got, const double *want,
                const double *magnitude, int64_t n, double tolerance)
{
  for (int64_t i = 0; i < n; ++i) {
    double g = got[i], w = want[i];
    if (isnan(w) ? isnan(g) : g == w)
      continue;
    double limit = tolerance * fmax(magnitude ? magnitude[i] : fabs(w), 1e-30);
    // A want beyond float32 may come out as infinity or as its largest number.
    if (fabs(w) >= 3.4028234e38 && fabs(g) >= 3.4028234e38 && (g > 0) == (w > 0))
      continue;
    if (!isnan(g) && !isnan(w) && !isinf(g) && fabs(g - w) <= limit)
      continue;
    check_fail(c, "%s[%lld] is %.9g, want %.9g (difference %.3g, limit %.3g)", what, (long long)i,
               g, w, fabs(g - w), limit);
    return false;
  }
  return true;
}

bool check_bits(Check *c, const char *what, const void *got, const void *want, size_t bytes)
{
  const unsigned char *g = got, *w = want;
  for (size_t i = 0; i < bytes; ++i) {
    if (g[i] != w[i]) {
      check_fail(c, "%s: byte %zu of %zu differs", what, i, bytes);
      return false;
    }
  }
  return true;
}

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool check_bench_next(CheckBench *b)
{
  double t = now();
  if (b->calls == 0)
    b->start = t;
  else if (b->calls == 1 || t - b->last < b->best)
    b->best = t - b->last;
  bool more = b->calls < 3 || (t - b->start < 0.2 && b->calls < 10000);
  ++b->calls;
  b->last = now();
  return more;
}

void check_bench_report(const Check *c, const CheckBench *b, double flops, double bytes,
                        const char *format, ...)
{
  char name[120];
  va_list args;
  va_start(args, format);
  vsnprintf(name, sizeof name, format, args);
  va_end(args);
  printf("%-7s %-6s %-44s %10.2f us", c->family, cpu_isa_name(c->isa), name, b->best * 1e6);
  if (flops > 0)
    printf(" %8.2f Gflop/s", flops / b->best * 1e-9);
  if (bytes > 0)
    printf(" %8.2f GB/s", bytes / b->best * 1e-9);
  printf("\n");
}

typedef struct {
  const char *name;
  void (*check)(Check *c);
} Family;

#define FAMILY_ROW(family) {#family, check_##family},
static const Family families[] = {CHECK_FAMILIES(FAMILY_ROW)};

static int usage(void)
{
  fprintf(stderr, "usage: checkkern [--filter FAMILY] [--isa NAME] [--seed N] [--rounds N] "
                  "[--bench]\n");
  return 2;
}

int main(int argc, char **argv)
{
  static const Isa all[] = {ISA_BASE, ISA_NEON, ISA_AVX2, ISA_AVX512};
  static const int thread_counts[CHECK_POOLS] = {1, 2, 3, 8};
  const char *filter = "", *only_isa = NULL;
  uint64_t seed = (uint64_t)time(NULL);
  static Check c;
  c.rounds = 60;
  for (int i = 1; i < argc; ++i) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "--bench") == 0) {
      c.bench = true;
      continue;
    }
    if (!value)
      return usage();
    if (strcmp(argv[i], "--filter") == 0)
      filter = value;
    else if (strcmp(argv[i], "--isa") == 0)
      only_isa = value;
    else if (strcmp(argv[i], "--seed") == 0)
      seed = strtoull(value, NULL, 0);
    else if (strcmp(argv[i], "--rounds") == 0)
      c.rounds = atoi(value);
    else
      return usage();
    ++i;
  }
  printf("checkkern --seed %llu\n", (unsigned long long)seed);
  for (int i = 0; i < CHECK_POOLS; ++i) {
    if (pool_create(thread_counts[i], &c.pools[i]) != ST_OK) {
      fprintf(stderr, "checkkern: no pool of %d threads\n", thread_counts[i]);
      return 2;
    }
  }
  int n_run = 0;
  for (size_t f = 0; f < sizeof families / sizeof *families; ++f) {
    if (!strstr(families[f].name, filter))
      continue;
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
      if (!cpu_supports(all[i]) || (only_isa && strcmp(only_isa, cpu_isa_name(all[i])) != 0))
        continue;
      c.isa = all[i];
      c.family = families[f].name;
      c.random = seed;
      c.n_cases = 0;
      long failures = c.n_failures;
      double start = now();
      families[f].check(&c);
      end_case(&c);
      printf("%-7s %-6s %6ld cases, %ld failures, %.1f s\n", c.family, cpu_isa_name(c.isa),
             c.n_cases, c.n_failures - failures, now() - start);
      fflush(stdout);
      ++n_run;
    }
  }
  for (int i = 0; i < CHECK_POOLS; ++i)
    pool_destroy(c.pools[i]);
  if (n_run == 0) {
    fprintf(stderr, "checkkern: no family matches '%s'\n", filter);
    return 2;
  }
  return c.n_failures ? 1 : 0;
}
