// SPDX-License-Identifier: Apache-2.0
#include "base/env.h"

#include <limits.h>
#include <stdlib.h>

const EnvVariable env_table[ENV_COUNT] = {
  [ENV_NUM_THREADS] = {"NUM_THREADS",
                       "threads of a session; unset or below 1: as many as the CPU affinity and "
                       "the cgroup quota allow"},
  [ENV_ISA] = {"ONERT_ISA", "highest instruction set the kernels may use: base, avx2, avx512, neon"},
};

const char *env_text(EnvName name)
{
  const char *value = getenv(env_table[name].name);
  return value && *value ? value : NULL;
}

int env_int(EnvName name, int otherwise)
{
  const char *text = env_text(name);
  if (!text)
    return otherwise;
  char *end = NULL;
  long value = strtol(text, &end, 10);
  return *end == '\0' && value >= INT_MIN && value <= INT_MAX ? (int)value : otherwise;
}
