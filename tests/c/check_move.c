// SPDX-License-Identifier: Apache-2.0
// Checks of strided copies: slices, pads, transpositions, repeats and reversals of all element
// sizes.
#include "checkkern.h"

#include "kernels/move.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Elements that a side spans; *first: index of element (0, 0, ..) in it.
static int64_t extent(const MoveShape *s, const int64_t *stride, int64_t *first)
{
  int64_t lo = 0, hi = 0;
  for (int32_t i = 0; i < s->rank; ++i) {
    if (s->dim[i] == 0) {
      *first = 0;
      return 1;
    }
    int64_t reach = (s->dim[i] - 1) * stride[i];
    lo += reach < 0 ? reach : 0;
    hi += reach > 0 ? reach : 0;
  }
  *first = -lo;
  return hi - lo + 1;
}

static void shuffle(Check *c, int32_t *order, int32_t n)
{
  for (int32_t i = n - 1; i > 0; --i) {
    int32_t j = (int32_t)check_int(c, 0, i), t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
}

// Strides of a buffer that stores the dimensions in `order`, with gaps at times.
static void lay_out(Check *c, const MoveShape *s, const int32_t *order, bool gaps, int64_t *stride)
{
  int64_t step = 1;
  for (int32_t k = s->rank - 1; k >= 0; --k) {
    stride[order[k]] = step;
    step *= s->dim[order[k]] + (gaps && check_int(c, 0, 2) == 0 ? check_int(c, 1, 3) : 0);
    step += step == 0;
  }
}

static MoveShape random_shape(Check *c, int round)
{
  static const int32_t sizes[] = {1, 2, 4, 4, 8};
  MoveShape s = {.rank = (int32_t)check_int(c, 0, 5), .element_bytes = sizes[check_int(c, 0, 4)]};
  int64_t n = 1;
  if (round % 3 == 0)
    s.rank = 3;
  int32_t src_order[MOVE_MAX_RANK], dst_order[MOVE_MAX_RANK];
  for (int32_t i = 0; i < s.rank; ++i) {
    s.dim[i] = check_int(c, 0, 60) == 0 ? 0 : check_size(c, 1, round % 3 == 0 ? 300 : 70);
    if (n * s.dim[i] > 60000)
      s.dim[i] = 1 + 60000 / n;
    n *= s.dim[i] ? s.dim[i] : 1;
    src_order[i] = dst_order[i] = i;
  }
  if (check_int(c, 0, 3))
    shuffle(c, src_order, s.rank);
  if (check_int(c, 0, 3) == 0)
    shuffle(c, dst_order, s.rank);
  lay_out(c, &s, src_order, check_int(c, 0, 1), s.src_stride);
  lay_out(c, &s, dst_order, check_int(c, 0, 1), s.dst_stride);
  for (int32_t i = 0; i < s.rank && check_int(c, 0, 1); ++i) {
    if (check_int(c, 0, 5) == 0)
      s.src_stride[i] = -s.src_stride[i];
    if (check_int(c, 0, 5) == 0)
      s.src_stride[i] = 0;
    if (check_int(c, 0, 5) == 0)
      s.dst_stride[i] = -s.dst_stride[i];
  }
  return s;
}

static void describe(const MoveShape *s, char *text, size_t bytes)
{
  text[0] = 0;
  for (int32_t i = 0; i < s->rank; ++i)
    snprintf(text + strlen(text), bytes - strlen(text), " %lld:%lld:%lld", (long long)s->dim[i],
             (long long)s->src_stride[i], (long long)s->dst_stride[i]);
}

static int64_t elements(const MoveShape *s)
{
  int64_t n = 1;
  for (int32_t i = 0; i < s->rank; ++i)
    n *= s->dim[i];
  return n;
}

static void offsets(const MoveShape *s, int64_t i, int64_t *src, int64_t *dst)
{
  for (int32_t d = s->rank - 1; d >= 0; --d) {
    *src += i % s->dim[d] * s->src_stride[d];
    *dst += i % s->dim[d] * s->dst_stride[d];
    i /= s->dim[d];
  }
}

static void check_copy(Check *c, int round)
{
  MoveShape s = random_shape(c, round);
  if (round % 11 == 0 && s.rank > 0) // of elements that go to one place, the last one stays
    s.dst_stride[check_int(c, 0, s.rank - 1)] = 0;
  char text[160];
  describe(&s, text, sizeof text);
  check_case(c, "move_copy %d bytes dim:src:dst%s", s.element_bytes, text);
  int64_t src_first, dst_first, n = elements(&s), b = s.element_bytes;
  int64_t src_n = extent(&s, s.src_stride, &src_first);
  int64_t dst_n = extent(&s, s.dst_stride, &dst_first);
  char *src = check_input_bytes(c, src_n, (int)b), *old = check_input_bytes(c, dst_n, (int)b);
  char *want = check_output_bytes(c, dst_n, (int)b, old);
  for (int64_t i = 0; i < n; ++i) {
    int64_t from = src_first, to = dst_first;
    offsets(&s, i, &from, &to);
    memcpy(want + to * b, src + from * b, (size_t)b);
  }
  for (int p = 0; p < CHECK_POOLS; ++p) {
    char *dst = check_output_bytes(c, dst_n, (int)b, old);
    move_copy(&s, src + src_first * b, dst + dst_first * b, check_pool(c, p));
    check_bits(c, "dst", dst, want, (size_t)(dst_n * b));
  }
  MoveShape simple = s;
  move_simplify(&simple);
  for (int32_t i = 0; i < simple.rank; ++i)
    if (simple.dim[i] == 1)
      check_fail(c, "move_simplify leaves a dimension of 1");
  int64_t seen = elements(&simple);
  if (seen != n)
    check_fail(c, "move_simplify makes %lld elements of %lld", (long long)seen, (long long)n);
  for (int64_t i = 0; i < n; i += 1 + n / 100) {
    int64_t at[4] = {0};
    offsets(&s, i, &at[0], &at[1]);
    offsets(&simple, i, &at[2], &at[3]);
    if (at[0] != at[2] || at[1] != at[3])
      check_fail(c, "move_simplify moves element %lld", (long long)i);
  }
}

static void check_add(Check *c, int round)
{
  MoveShape s = random_shape(c, round);
  s.element_bytes = 4;
  if (round % 5 == 0 && s.rank > 0) // sums into elements that repeat
    s.dst_stride[check_int(c, 0, s.rank - 1)] = 0;
  if (round % 20 == 0) // more than one task has elements
    s = (MoveShape){1, {50000}, {1}, {0}, 4};
  char text[160];
  describe(&s, text, sizeof text);
  check_case(c, "move_add dim:src:dst%s", text);
  int64_t src_first, dst_first, n = elements(&s);
  int64_t src_n = extent(&s, s.src_stride, &src_first);
  int64_t dst_n = extent(&s, s.dst_stride, &dst_first);
  float *src = check_input(c, src_n, -1, 1), *old = check_input(c, dst_n, -1, 1);
  double *want = check_doubles(c, dst_n), *magnitude = check_doubles(c, dst_n);
  for (int64_t i = 0; i < dst_n; ++i) {
    want[i] = old[i];
    magnitude[i] = fabs(old[i]);
  }
  for (int64_t i = 0; i < n; ++i) {
    int64_t from = src_first, to = dst_first;
    offsets(&s, i, &from, &to);
    want[to] += src[from];
    magnitude[to] += fabs(src[from]);
  }
  int64_t terms = 1; // that go to one element, added one by one
  for (int32_t i = 0; i < s.rank; ++i)
    terms *= s.dst_stride[i] == 0 ? s.dim[i] : 1;
  float *first = NULL;
  for (int p = 0; p < CHECK_POOLS; ++p) {
    float *dst = check_output(c, dst_n, old);
    move_add(&s, src + src_first, dst + dst_first, check_pool(c, p));
    if (p == 0)
      check_near(c, "dst", first = dst, want, magnitude, dst_n,
                 6e-8 * (double)(terms + 1));
    else
      check_bits(c, "dst on more threads", dst, first, (size_t)dst_n * sizeof *dst);
  }
}

static void check_fill(Check *c)
{
  int b = 1 << check_int(c, 0, 3);
  int64_t n = check_size(c, 0, 100000);
  check_case(c, "move_fill n %lld of %d bytes", (long long)n, b);
  char *value = check_input_bytes(c, 1, b), *want = check_output_bytes(c, n, b, NULL);
  for (int64_t i = 0; i < n; ++i)
    memcpy(want + i * b, value, (size_t)b);
  for (int p = 0; p < CHECK_POOLS; ++p) {
    char *dst = check_output_bytes(c, n, b, NULL);
    move_fill(dst, value, n, b, check_pool(c, p));
    check_bits(c, "dst", dst, want, (size_t)(n * b));
  }
}

static void bench_one(Check *c, const char *name, MoveShape s)
{
  check_case(c, "bench");
  int64_t first, n = elements(&s);
  float *src = check_input(c, extent(&s, s.src_stride, &first), -1, 1);
  float *dst = check_output(c, extent(&s, s.dst_stride, &first), NULL);
  memset(dst, 0, (size_t)extent(&s, s.dst_stride, &first) * sizeof *dst);
  for (int p = 0; p < 2; ++p) {
    CheckBench t = {0};
    while (check_bench_next(&t))
      move_copy(&s, src, dst, check_pool(c, p));
    check_bench_report(c, &t, 0, 8.0 * (double)n, "%s, %d threads", name, p + 1);
    t = (CheckBench){0};
    while (check_bench_next(&t))
      move_add(&s, src, dst, check_pool(c, p));
    check_bench_report(c, &t, 0, 12.0 * (double)n, "add %s, %d threads", name, p + 1);
  }
}

static void bench(Check *c)
{
  bench_one(c, "[32,64,56,56] to NHWC",
            (MoveShape){3, {32, 3136, 64}, {200704, 1, 3136}, {200704, 64, 1}, 4});
  bench_one(c, "[32,56,56,64] to NCHW",
            (MoveShape){3, {32, 64, 3136}, {200704, 1, 64}, {200704, 3136, 1}, 4});
  bench_one(c, "[32,224,224,3] to NCHW",
            (MoveShape){3, {32, 3, 50176}, {150528, 1, 3}, {150528, 50176, 1}, 4});
  bench_one(c, "transpose 1280x1000", (MoveShape){2, {1000, 1280}, {1, 1000}, {1280, 1}, 4});
  bench_one(c, "concat [100352,24] into 48", (MoveShape){2, {100352, 24}, {24, 1}, {48, 1}, 4});
  bench_one(c, "concat [100352,3] into 6", (MoveShape){2, {100352, 3}, {3, 1}, {6, 1}, 4});
  bench_one(c, "dense 2.4M", (MoveShape){1, {2408448}, {1}, {1}, 4});
}

void check_move(Check *c)
{
  if (c->isa != ISA_BASE) // compiled once
    return;
  for (int round = 0; round < 5 * c->rounds; ++round)
    check_copy(c, round);
  for (int round = 0; round < 3 * c->rounds; ++round)
    check_add(c, round);
  for (int round = 0; round < c->rounds; ++round)
    check_fill(c);
  if (c->bench)
    bench(c);
}
