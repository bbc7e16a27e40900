// SPDX-License-Identifier: Apache-2.0
// Kernel checks: every table that the machine can run, against naive double references.
//
// Each family has `void check_<family>(Check *c)` in check_<family>.c, called once per ISA with
// c->isa set. It loops c->rounds times: check_case() names a case and drops the buffers of the
// last one, check_input() and check_output() hand out buffers, the kernel runs on each of
// check_pool(c, 0 .. CHECK_POOLS-1), and check_near() or check_bits() judge the results.
//
// All float buffers are aligned to 4 bytes only. Outputs and scratch have guard bytes on both
// sides, verified when the case ends; inputs end where their heap block ends, so that a sanitizer
// sees reads past them, and must not change.
#ifndef CHECKKERN_H
#define CHECKKERN_H

#include "base/cpu.h"
#include "base/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CHECK_POOLS = 4, CHECK_MAX_BUFFERS = 256 };

typedef struct {
  unsigned char *block; // heap block
  void *data;
  size_t bytes;
  uint64_t hash;        // of an input's bytes
  bool is_output;
} CheckBuffer;

typedef struct {
  Isa isa;              // the tables under test
  bool bench;           // also time the hot shapes, with check_bench_next()
  int rounds;           // random cases wanted per kernel
  uint64_t random;      // state of the generator
  const char *family;
  char name[200];       // of the current case
  Pool *pools[CHECK_POOLS];
  CheckBuffer buffers[CHECK_MAX_BUFFERS];
  int n_buffers;
  long n_cases, n_failures;
} Check;

#define CHECK_FAMILIES(F)                                                                          \
  F(eltwise) F(rows) F(pool2d) F(move) F(pick) F(rotate) F(resample) F(update) F(gemm)      \
  F(conv) F(dwconv)
#define CHECK_DECLARE(family) void check_##family(Check *c);
CHECK_FAMILIES(CHECK_DECLARE)

// Begins a case; the text (printf) stands in every failure message.
void check_case(Check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Counts a failure and prints it with ISA and case.
void check_fail(Check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Pools of 1, 2, 3 and 8 threads.
Pool *check_pool(const Check *c, int i);

uint64_t check_random(Check *c);
// Uniform in lo .. hi, both included.
int64_t check_int(Check *c, int64_t lo, int64_t hi);
// Small numbers mostly, tails of vector lengths, at times large: lo .. hi.
int64_t check_size(Check *c, int64_t lo, int64_t hi);
// Uniform in [lo, hi].
float check_float(Check *c, float lo, float hi);

// Buffers live until the next check_case(). Uniform in [lo, hi].
float *check_input(Check *c, int64_t n, float lo, float hi);
// A copy of `from` that the kernel may write, guarded; from == NULL: filled with a NaN pattern.
float *check_output(Check *c, int64_t n, const float *from);
// n * element_bytes random bytes, or a guarded output; aligned to element_bytes only.
void *check_input_bytes(Check *c, int64_t n, int element_bytes);
void *check_output_bytes(Check *c, int64_t n, int element_bytes, const void *from);
// Changes to an input made by the test itself must be followed by this.
void check_input_changed(Check *c, const void *data);
// Guarded, aligned to 64 bytes, filled with a NaN pattern.
void *check_scratch(Check *c, size_t bytes);
// Zeroed doubles for references; freed with the case.
double *check_doubles(Check *c, int64_t n);

// |got[i] - want[i]| <= tolerance * max(magnitude[i], 1e-30), where magnitude == NULL stands for
// |want|. Sums pass the sum of their terms' absolute values. NaN equals NaN, infinity itself.
bool check_near(Check *c, const char *what, const float *got, const double *want,
                const double *magnitude, int64_t n, double tolerance);
// The same bits.
bool check_bits(Check *c, const char *what, const void *got, const void *want, size_t bytes);

// Timing: CheckBench b = {0}; while (check_bench_next(&b)) run(); check_bench_report(c, &b, ...).
// Reports the best of the repetitions; flops and bytes are per call, 0 leaves the rate out.
typedef struct {
  double start, last, best;
  int calls;
} CheckBench;
bool check_bench_next(CheckBench *b);
void check_bench_report(const Check *c, const CheckBench *b, double flops, double bytes,
                        const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
