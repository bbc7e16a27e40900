// SPDX-License-Identifier: Apache-2.0
// Outcome of every fallible function inside the library. The numbers equal NNFW_STATUS, which
// the API layer returns unchanged.
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

typedef enum {
  ST_OK = 0,
  ST_ERROR = 1,
  ST_NULL = 2,
  ST_STATE = 3,
  ST_OOM = 4,
  ST_SHORT = 5, // output buffer too small
  ST_DEPRECATED = 6,
} StatusCode;

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

typedef StatusCode Status;

// Passes a failure on without touching the text that was set where the fact was known.
#define TRY(expression)                                                                            \
  do {                                                                                             \
    Status try_status_ = (expression);                                                             \
    if (try_status_ != ST_OK)                                                                      \
      return try_status_;                                                                          \
  } while (0)

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
