// SPDX-License-Identifier: Apache-2.0
// Time and memory of the phases of a tool.
//
// Memory is the largest value seen in a phase, read from /proc at its begin and end and, once
// meter_poll_memory was called, every 100 ms by a thread.
#ifndef TOOL_METER_H
#define TOOL_METER_H

#include <stdbool.h>

typedef enum { PHASE_MODEL_LOAD, PHASE_PREPARE, PHASE_EXECUTE, PHASE_COUNT } Phase;

// Milliseconds of a clock that only goes forward.
double meter_now(void);

// A phase ends where the next begins or meter_end is called.
void meter_begin(Phase phase);
void meter_end(void);
// Milliseconds between begin and end.
double meter_time(Phase phase);

void meter_poll_memory(void);
// Ends the polling and prints a block each for RSS, HWM and PSS, in kB; with `peaks` also the
// largest value of each, and the most used at all. Nothing where memory was not polled.
void meter_print_memory(bool peaks);

// The line between blocks.
void meter_print_rule(void);
// The name of a phase as the rows of blocks begin, padded to 12 columns.
const char *meter_name(Phase phase);

#endif
