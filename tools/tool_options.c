// SPDX-License-Identifier: Apache-2.0
// Command lines as a table.
#include "tool_options.h"

#include "tool.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The shared prefix of what is wrong with a command line as a whole.
#define BAD_LINE "E: Fail to run by runtime error:Invalid argument. "
#define MISSING BAD_LINE "You must have missed some argument."
#define TOO_MANY BAD_LINE "You've given more positional argument than necessary."

enum { FIRST_CODE = 256, HELP = FIRST_CODE, VERSION, MODELFILE, TABLE }; // of getopt_long

static void print_option(char letter, const char *name, const char *value, const char *help)
{
  char left[64], dash[8] = "    ";
  if (letter)
    snprintf(dash, sizeof dash, "-%c, ", letter);
  snprintf(left, sizeof left, "%s--%s%s%s", dash, name, value ? " " : "", value ? value : "");
  printf("  %-32s %s\n", left, help);
}

static void print_help(const char *program, const Option *table, size_t n)
{
  printf("Usage: %s [options] path\n\n"
         "path is a .circle or .tflite file or an nnpackage directory.\n\n",
         program);
  print_option(0, "modelfile", "PATH", "the path, as an option");
  for (size_t i = 0; i < n; ++i)
    print_option(table[i].letter, table[i].name, table[i].value, table[i].help);
  print_option('h', "help", NULL, "print this and exit");
  print_option(0, "version", NULL, "print the version and exit");
}

static void read_value(Option *o, const char *text)
{
  char *end = NULL;
  errno = 0;
  if (o->kind == OPTION_INTEGER) {
    o->integer = strtoll(text, &end, 10);
    if (end == text || *end)
      tool_fail(EXIT_BAD_ARGUMENT, "--%s: '%s' is not a whole number", o->name, text);
    if (errno == ERANGE || o->integer < o->least || o->integer > o->most)
      tool_fail(EXIT_BAD_ARGUMENT, "--%s: %s is not in %lld .. %lld", o->name, text,
                (long long)o->least, (long long)o->most);
  } else if (o->kind == OPTION_REAL) {
    o->real = strtod(text, &end);
    if (end == text || *end || !isfinite(o->real))
      tool_fail(EXIT_BAD_ARGUMENT, "--%s: '%s' is not a finite number", o->name, text);
  }
  o->text = text;
}

static Option *by_letter(Option *table, size_t n, int letter)
{
  for (size_t i = 0; i < n; ++i)
    if (table[i].letter && table[i].letter == letter)
      return &table[i];
  return NULL;
}

// getopt_long's own form of the table. A leading '-' has positionals reported in their place, ':'
// tells a missing value from an unknown option.
static struct option *make_long(const Option *table, size_t n, char *letters)
{
  struct option *list = tool_alloc(n + 4, sizeof *list);
  list[0] = (struct option){"help", no_argument, NULL, HELP};
  list[1] = (struct option){"version", no_argument, NULL, VERSION};
  list[2] = (struct option){"modelfile", required_argument, NULL, MODELFILE};
  letters += sprintf(letters, "-:h");
  for (size_t i = 0; i < n; ++i) {
    bool flag = table[i].kind == OPTION_FLAG;
    list[3 + i] = (struct option){table[i].name, flag ? no_argument : required_argument, NULL,
                                  TABLE + (int)i};
    if (table[i].letter)
      letters += sprintf(letters, "%c%s", table[i].letter, flag ? "" : ":");
  }
  return list;
}

const char *options_parse(const char *program, int argc, char **argv, Option *table, size_t n)
{
  char *letters = tool_alloc(2 * n + 4, 1);
  struct option *list = make_long(table, n, letters);
  const char *path = NULL, *wrong = NULL, *wrong_word = NULL;
  bool help = false, version = false;
  int code;
  opterr = 0;
  // The first fault is kept until the end: --help and --version count wherever they stand.
  while ((code = getopt_long(argc, argv, letters, list, NULL)) != -1) {
    const char *fault = NULL;
    if (code == 'h' || code == HELP) {
      help = true;
    } else if (code == VERSION) {
      version = true;
    } else if (code == 1 || code == MODELFILE) {
      if (path)
        fault = TOO_MANY;
      else
        path = optarg;
    } else if (code == ':' || code == '?') {
      fault = code == ':' ? MISSING : TOO_MANY;
    } else {
      Option *o = code >= TABLE ? &table[code - TABLE] : by_letter(table, n, code);
      o->given = true;
      o->text = optarg;
    }
    if (fault && !wrong) {
      wrong = fault;
      wrong_word = code == 1 ? optarg : argv[optind - 1];
    }
  }
  for (; optind < argc && !wrong; ++optind) { // what stands behind a "--"
    if (path) {
      wrong = TOO_MANY;
      wrong_word = argv[optind];
    } else {
      path = argv[optind];
    }
  }
  free(list);
  free(letters);
  if (help)
    print_help(program, table, n);
  else if (version)
    tool_print_version(program);
  if (help || version)
    exit(EXIT_SUCCESS);
  if (wrong)
    tool_fail(EXIT_BAD_RUN, "%s (%s)", wrong, wrong_word);
  if (!path)
    tool_fail(EXIT_BAD_RUN, "%s (the path of a model)", MISSING);
  for (size_t i = 0; i < n; ++i)
    if (table[i].given)
      read_value(&table[i], table[i].text);
  return path;
}
