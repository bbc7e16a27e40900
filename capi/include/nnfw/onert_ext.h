/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Additions of this library to the published nnfw API: what its structs cannot carry.
 *
 * Option structs begin with `uint32_t struct_size`, set by the caller to sizeof of the struct it was
 * compiled with: a library that is newer fills in what the caller does not know. Unless stated otherwise a function returns
 * NNFW_STATUS_UNEXPECTED_NULL for a NULL session or pointer, NNFW_STATUS_INVALID_STATE in a state
 * that it does not name, NNFW_STATUS_ERROR for a bad value, and then changes nothing; the text of
 * the failure is there to read with nnfw_get_last_error_message.
 */
#ifndef NNFW_ONERT_EXT_H
#define NNFW_ONERT_EXT_H

#include "nnfw.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cffi: begin */

/* Sets the number of threads of a session, the caller's own included. 0 (the default): NUM_THREADS
 * of the environment, else as many as CPU affinity and cgroup quota allow. Results do not depend
 * on it. States: before nnfw_prepare or nnfw_train_prepare. */
NNFW_STATUS onert_set_num_threads(nnfw_session *session, uint32_t n_threads);

/* Hyper-parameters and choices of training that nnfw_train_info has no room for. */
typedef struct onert_train_options
{
  uint32_t struct_size;     /* sizeof(onert_train_options) */
  uint32_t keep_gradients;  /* not 0: gradients stay readable after a step, at the price of memory */
  double adam_beta1;        /* decay of the first moment, in [0, 1) */
  double adam_beta2;        /* decay of the second moment, in [0, 1) */
  double adam_epsilon;      /* added to the root of the second moment, > 0 */
  const char *trainable;    /* NULL: nnfw_train_info.num_of_trainable_ops decides. Otherwise patterns
                               separated by ';': shell wildcards over tensor names, or #N for the
                               tensor of index N in the model; every float32 constant that matches
                               one, and every weight stored as float16 or integers that trains as
                               float32 (behind DEQUANTIZE by the name of its output), is trained, if
                               an output depends on it through operators with a gradient (the fill
                               value of PADV2 has none). Copied by the call. */
} onert_train_options;

/* Fills in the defaults: 0.9, 0.999, 1e-7, no pattern. struct_size must be set before the call. */
NNFW_STATUS onert_train_options_init(onert_train_options *options);
/* States: model loaded, before nnfw_train_prepare. */
NNFW_STATUS onert_train_set_options(nnfw_session *session, const onert_train_options *options);

/* Sets how many bytes the intermediate tensors of a step may take, see onert_train_get_memory; 0, the
 * default: any number. Where a step needs more, nnfw_train_prepare, and later the call that asks for
 * a step of that many samples, fails before it allocates them, with both numbers in the text.
 * Results do not depend on it. States: model loaded, before nnfw_train_prepare. */
NNFW_STATUS onert_train_set_memory_limit(nnfw_session *session, uint64_t bytes);
/* Bytes held for the intermediate tensors of steps: activations, gradients and what kernels need
 * while they run. Neither the parameters and the optimizer's state nor the caller's buffers are among
 * them. States: training prepared. */
NNFW_STATUS onert_train_get_memory(nnfw_session *session, uint64_t *bytes);

/* Sets the learning rate of the following steps, > 0 and finite. States: training prepared. */
NNFW_STATUS onert_train_set_learning_rate(nnfw_session *session, float learning_rate);

/* Sets the number of samples of the following steps, 1 .. batch_size: for a last, shorter batch
 * whose buffers were bound without a tensor info. Losses and gradients then are those of that
 * many samples. States: training prepared. */
NNFW_STATUS onert_train_set_batch(nnfw_session *session, uint32_t n_samples);

/* A trained parameter. */
typedef struct onert_parameter_info
{
  uint32_t struct_size;     /* sizeof(onert_parameter_info) */
  uint32_t tensor_index;    /* in the model file */
  const char *name;         /* owned by the session */
  nnfw_tensorinfo tensor;
} onert_parameter_info;

/* Number of trained parameters. States: training prepared. */
NNFW_STATUS onert_train_parameter_count(nnfw_session *session, uint32_t *count);
NNFW_STATUS onert_train_parameter_info(nnfw_session *session, uint32_t index,
                                       onert_parameter_info *info);
/* Copies a parameter out or in; `length` is its exact size in bytes. States: training prepared. */
NNFW_STATUS onert_train_get_parameter(nnfw_session *session, uint32_t index, float *buffer,
                                      size_t length);
NNFW_STATUS onert_train_set_parameter(nnfw_session *session, uint32_t index, const float *buffer,
                                      size_t length);
/* Copies out the gradient of the summed losses of the last nnfw_train(session, true). Needs
 * keep_gradients. States: after such a step. */
NNFW_STATUS onert_train_get_gradient(nnfw_session *session, uint32_t index, float *buffer,
                                     size_t length);

/* Text of the last failure in the calling thread of a call that had no session to keep it.
 * Semantics of buffer and length as in nnfw_get_last_error_message. */
NNFW_STATUS onert_get_thread_error_message(char *buffer, size_t length);

/* Receives what the library has to tell beside errors, one line a call, from any thread. */
typedef void (*onert_log_callback)(int32_t level, const char *line, void *user);
/* Process-wide; NULL, the default, is silence. level: 0 information, 1 warning. */
NNFW_STATUS onert_set_log_callback(onert_log_callback callback, void *user);

/* cffi: end */

#ifdef __cplusplus
}
#endif

#endif
