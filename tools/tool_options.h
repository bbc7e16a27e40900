// SPDX-License-Identifier: Apache-2.0
// Command lines as a table: getopt_long reads them, the table says what is allowed and what --help
// prints.
//
// Both `--name value` and `--name=value` are taken, in any order; the last of a repeated option
// counts. The model's path is the one positional argument, or the value of --modelfile. --help and
// --version are known to every tool and end it.
#ifndef TOOL_OPTIONS_H
#define TOOL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { OPTION_FLAG, OPTION_TEXT, OPTION_INTEGER, OPTION_REAL } OptionKind;

typedef struct {
  const char *name; // without the dashes
  char letter;      // 0: none
  OptionKind kind;
  int64_t least, most; // of an INTEGER
  const char *value;   // what --help calls the value
  const char *help;
  // Result; the defaults stay where the option is not given.
  bool given;
  const char *text;
  int64_t integer;
  double real; // finite
} Option;

// Reads the command line into the table and returns the path.
const char *options_parse(const char *program, int argc, char **argv, Option *table, size_t n);

#endif
