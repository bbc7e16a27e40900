// SPDX-License-Identifier: Apache-2.0
// What stands behind nnfw_session, and how every public function begins and ends.
#ifndef API_SESSION_H
#define API_SESSION_H

// Everything else in the library is hidden; the version script exports only what it names.
#pragma GCC visibility push(default)
#include "nnfw/nnfw.h"
#include "nnfw/nnfw_experimental.h"
#include "nnfw/nnfw_internal.h"
#include "nnfw/onert_ext.h"
#pragma GCC visibility pop

#include "exec/predictor.h"
#include "format/model.h"
#include "train/train.h"

#include <stdatomic.h>

typedef enum { INIT = 1, LOADED = 2, PREP = 4, RUNNING = 8, RAN = 16, TPREP = 32, TRAINED = 64 } State;

typedef enum {
#define ROW(function, states) FN_##function,
#include "api/state.def"
#undef ROW
} Function;

// A buffer the caller has bound. `samples` is the count its tensor info stated; 0: none given.
typedef struct {
  void *bytes;
  size_t length;
  bool bound;
  int32_t samples;
} Binding;

struct nnfw_session {
  State state;
  atomic_flag busy;    // set while a call runs: a second thread gets an error, not a crash
  Diag diag;           // of the current call
  Diag last;           // of the last failure, for nnfw_get_last_error_message
  Model *model;
  Pool *pool;
  uint32_t n_threads;  // 0: environment or machine
  char *backends;      // as set by the caller, or NULL
  char *workspace;
  Shape *shapes;       // [n_inputs] set by the caller
  bool *reshaped;      // [n_inputs]
  Binding *inputs;     // [n_inputs]
  Binding *labels;     // [n_outputs]
  Binding *outputs;    // [n_outputs]
  const void **in_pointers; // [n_inputs], [n_outputs]: room for a step's pointers
  const void **label_pointers;
  void **out_pointers;
  // inference
  Predictor *predictor;
  bool stale;          // shapes changed since the predictor was made
  // training
  nnfw_train_info info;
  bool info_from_model; // num_of_trainable_ops stands for the metadata's list of operators
  onert_train_options options;
  char *trainable;     // options.trainable, owned
  uint64_t memory_limit; // of steps, in bytes; 0: none
  Train *train;
  int32_t step_samples; // of the next steps; 0: what the bindings say
};

// Claims the session for this call and clears its diag. Fails for a NULL or busy session; the text is
// then the thread's, which nnfw_get_last_error_message gives to that thread.
Status session_begin(nnfw_session *s) MUST_USE;
// Keeps the text of a failure, releases the session and passes the status on.
NNFW_STATUS session_end(nnfw_session *s, Status status);
// INVALID_STATE unless state.def allows `function` now.
Status session_allows(nnfw_session *s, Function function) MUST_USE;
// UNEXPECTED_NULL with the argument's name where `pointer` is NULL.
Status session_given(nnfw_session *s, const void *pointer, const char *name) MUST_USE;
// A refusal by value: ERROR with that text.
Status session_fail(nnfw_session *s, const char *format, ...) PRINTF_LIKE(2, 3) MUST_USE;
// Text of a failure without a session, per thread.
NNFW_STATUS thread_fail(Status status, const char *text);
const char *thread_text(void);

// The body of every public function that takes a session.
#define API_CALL(session, body)                                                                    \
  do {                                                                                             \
    Status api_begun_ = session_begin(session);                                                    \
    if (api_begun_ != ST_OK)                                                                       \
      return (NNFW_STATUS)api_begun_;                                                              \
    return session_end(session, body);                                                             \
  } while (0)

Status session_pool(nnfw_session *s) MUST_USE; // makes the pool where there is none yet
int session_n_inputs(const nnfw_session *s);   // of the model, without labels
int session_n_outputs(const nnfw_session *s);
bool session_trains(const nnfw_session *s);    // TPREP or TRAINED
// The shapes to prepare with, or NULL where the caller has changed none.
const Shape *session_shapes(nnfw_session *s);

#endif
