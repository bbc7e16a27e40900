// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static LogCallback current;
static void *current_user;

void log_set(LogCallback callback, void *user)
{
  pthread_mutex_lock(&mutex);
  current = callback;
  current_user = user;
  pthread_mutex_unlock(&mutex);
}

void log_line(LogLevel level, const char *format, ...)
{
  pthread_mutex_lock(&mutex);
  LogCallback callback = current;
  void *user = current_user;
  pthread_mutex_unlock(&mutex);
  if (!callback)
    return;
  char line[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  callback(level, line, user);
}
