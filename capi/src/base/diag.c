// SPDX-License-Identifier: Apache-2.0
#include "base/diag.h"

#include <stdio.h>
#include <string.h>

void diag_clear(Diag *d)
{
  if (d)
    d->text[0] = '\0';
}

Status diag_vfail(Diag *d, Status status, const char *format, va_list args)
{
  if (d && d->text[0] == '\0')
    vsnprintf(d->text, sizeof d->text, format, args);
  return status;
}

Status diag_fail(Diag *d, Status status, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  Status s = diag_vfail(d, status, format, args);
  va_end(args);
  return s;
}

Status diag_oom(Diag *d)
{
  return diag_fail(d, ST_OOM, "out of memory");
}

void diag_append(Diag *d, const char *format, ...)
{
  if (!d)
    return;
  size_t used = strlen(d->text);
  va_list args;
  va_start(args, format);
  vsnprintf(d->text + used, sizeof d->text - used, format, args);
  va_end(args);
}
