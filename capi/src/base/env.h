// SPDX-License-Identifier: Apache-2.0
// Environment variables the library reads; env.c holds the table that the docs are made from.
#ifndef BASE_ENV_H
#define BASE_ENV_H

typedef enum {
  ENV_NUM_THREADS,
  ENV_ISA,
  ENV_COUNT,
} EnvName;

typedef struct {
  const char *name;
  const char *meaning;
} EnvVariable;

extern const EnvVariable env_table[ENV_COUNT];

// The value, or NULL where the variable is unset or empty.
const char *env_text(EnvName name);
// The value as a whole number, or `otherwise` where it is unset or is no number.
int env_int(EnvName name, int otherwise);

#endif
