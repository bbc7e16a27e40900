// SPDX-License-Identifier: Apache-2.0
// Checks of the C test programs: a failing one prints where and what and is counted; main returns
// check_result().
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <stdio.h>

static int check_failures;

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                       \
      ++check_failures;                                                                            \
    }                                                                                              \
  } while (0)

#define CHECK_EQUAL(a, b)                                                                          \
  do {                                                                                             \
    long long check_a_ = (long long)(a), check_b_ = (long long)(b);                                \
    if (check_a_ != check_b_) {                                                                    \
      printf("%s:%d: %s is %lld, wanted %s = %lld\n", __FILE__, __LINE__, #a, check_a_, #b,        \
             check_b_);                                                                            \
      ++check_failures;                                                                            \
    }                                                                                              \
  } while (0)

static inline int check_result(void)
{
  printf(check_failures ? "%d checks failed\n" : "all checks passed\n", check_failures);
  return check_failures != 0;
}

#endif
