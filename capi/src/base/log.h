// SPDX-License-Identifier: Apache-2.0
// The library never prints. What it has to say beside errors goes through one callback per
// process, which is unset by default.
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/status.h"

typedef enum { LOG_INFO = 0, LOG_WARNING = 1 } LogLevel;

typedef void (*LogCallback)(LogLevel level, const char *line, void *user);

void log_set(LogCallback callback, void *user);
void log_line(LogLevel level, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
