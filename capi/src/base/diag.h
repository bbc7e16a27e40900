// SPDX-License-Identifier: Apache-2.0
// One line of text that says what is wrong with what. It is set once, where the fact is known,
// and travels outward with the status.
#ifndef BASE_DIAG_H
#define BASE_DIAG_H

#include "base/status.h"

#include <stdarg.h>

typedef struct {
  char text[1024];
} Diag;

void diag_clear(Diag *d);

// Sets the text unless one is set already; returns `status`, so that callers write
// `return diag_fail(d, ST_ERROR, ...)`. `d` may be NULL.
Status diag_fail(Diag *d, Status status, const char *format, ...) PRINTF_LIKE(3, 4) MUST_USE;
Status diag_vfail(Diag *d, Status status, const char *format, va_list args) MUST_USE;

// Text and status for a failed allocation.
Status diag_oom(Diag *d) MUST_USE;

// Appends to the text (for reports that collect several facts in one line).
void diag_append(Diag *d, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
