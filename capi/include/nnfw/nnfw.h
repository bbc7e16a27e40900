/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running neural networks: load a .circle or .tflite model, bind buffers, run. Training is in
 * nnfw_experimental.h, what goes beyond the published API in onert_ext.h.
 *
 *   #include <nnfw.h>
 *
 *   int main(void)
 *   {
 *     float image[1 * 28 * 28], scores[10];   // [1,28,28,1] and [1,10]
 *     nnfw_session *session = NULL;
 *     if (nnfw_create_session(&session) != NNFW_STATUS_NO_ERROR)
 *       return 1;
 *     int failed = nnfw_load_model_from_file(session, "digits.circle")
 *       || nnfw_prepare(session)
 *       || nnfw_set_input(session, 0, NNFW_TYPE_TENSOR_FLOAT32, image, sizeof image)
 *       || nnfw_set_output(session, 0, NNFW_TYPE_TENSOR_FLOAT32, scores, sizeof scores)
 *       || nnfw_run(session);                 // image is read, scores is written here
 *     nnfw_close_session(session);
 *     return failed;
 *   }
 *
 * A session is always in one of these states; "States" at a function lists where it may be called:
 *
 *   new        nothing loaded yet
 *   loaded     a model is loaded
 *   prepared   nnfw_prepare has succeeded
 *   running    between nnfw_run_async and nnfw_await
 *   ran        at least one inference has finished
 *   training   nnfw_train_prepare has succeeded
 *   trained    at least one nnfw_train has succeeded
 *
 * There is no way back to an earlier one, and none from inference to training; close the session
 * and create another.
 *
 * Unless a comment says otherwise a function returns
 *   NNFW_STATUS_NO_ERROR         done
 *   NNFW_STATUS_UNEXPECTED_NULL  the session or a pointer that is needed is NULL
 *   NNFW_STATUS_INVALID_STATE    not allowed in the state the session is in
 *   NNFW_STATUS_ERROR            a bad value, file or model
 *   NNFW_STATUS_OUT_OF_MEMORY
 * and a call that fails changes nothing: not the state, not what is stored, not what its pointers
 * lead to. nnfw_get_last_error_message has the reason in words.
 *
 * Strings and structs passed in are copied. Tensor buffers are borrowed: they must stay valid until
 * the last run or training step that uses them, or until another is bound in their place.
 *
 * Not in this version, and therefore an ERROR in the states where they are allowed: running
 * asynchronously, layouts and types of inputs and outputs, backends of single operators,
 * signatures, custom operators, settings of preparation, execution and configuration, and
 * nnfw_get_output.
 *
 * One session is used by one thread at a time; a second one gets NNFW_STATUS_ERROR. Different
 * sessions are independent.
 */
#ifndef __NNFW_H__
#define __NNFW_H__

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cffi: begin */

/* ---- types ---- */

/* A model and all that belongs to running it. */
typedef struct nnfw_session nnfw_session;

/* Type of the elements of a tensor. */
typedef enum {
  NNFW_TYPE_TENSOR_FLOAT32 = 0,
  NNFW_TYPE_TENSOR_INT32 = 1,
  /* uint8_t; real value = scale * (element - zero point) where the model is quantized. Every uint8
   * tensor of a model is reported as this one. */
  NNFW_TYPE_TENSOR_QUANT8_ASYMM = 2,
  /* uint8_t: 0 is false, all else true. */
  NNFW_TYPE_TENSOR_BOOL = 3,
  NNFW_TYPE_TENSOR_UINT8 = 4,
  NNFW_TYPE_TENSOR_INT64 = 5,
  /* int8_t; real value = scale * (element - zero point). */
  NNFW_TYPE_TENSOR_QUANT8_ASYMM_SIGNED = 6,
  /* int16_t; real value = scale * element. */
  NNFW_TYPE_TENSOR_QUANT16_SYMM_SIGNED = 7
} NNFW_TYPE;

/* Result of every function. */
typedef enum {
  NNFW_STATUS_NO_ERROR = 0,
  NNFW_STATUS_ERROR = 1,
  NNFW_STATUS_UNEXPECTED_NULL = 2,
  NNFW_STATUS_INVALID_STATE = 3,
  NNFW_STATUS_OUT_OF_MEMORY = 4,
  /* The caller's buffer is too small for what was to be written. */
  NNFW_STATUS_INSUFFICIENT_OUTPUT_SIZE = 5,
  NNFW_STATUS_DEPRECATED_API = 6
} NNFW_STATUS;

/* Order of the dimensions of an image batch in the caller's buffers. */
typedef enum {
  /* As in the model. */
  NNFW_LAYOUT_NONE = 0,
  /* [N,H,W,C] */
  NNFW_LAYOUT_CHANNELS_LAST = 1,
  /* [N,C,H,W] */
  NNFW_LAYOUT_CHANNELS_FIRST = 2
} NNFW_LAYOUT;

/* What nnfw_query_info_u32 can be asked. */
typedef enum {
  /* Version of the library, 0xMMmmmmPP as NNFW_VERSION of nnfw_version.h. */
  NNFW_INFO_ID_VERSION = 0
} NNFW_INFO_ID;

/* Most dimensions a tensor of the API can have. */
#define NNFW_MAX_RANK 6

/* Type and shape of a tensor. */
typedef struct nnfw_tensorinfo {
  NNFW_TYPE dtype;
  /* Number of dimensions, 0 (a scalar) .. NNFW_MAX_RANK. */
  int32_t rank;
  /* Outermost first; those from `rank` on have no meaning. -1: not known yet. */
  int32_t dims[NNFW_MAX_RANK];
} nnfw_tensorinfo;

/* ---- life of a session ---- */

/* Makes a session, in state new, and stores it in *session; to be given back with
 * nnfw_close_session. On failure *session is NULL, where the pointer itself is not. */
NNFW_STATUS nnfw_create_session(nnfw_session **session);

/* Frees a session and all it owns. An inference on its way is waited for. NULL is accepted and does
 * nothing. States: all. */
NNFW_STATUS nnfw_close_session(nnfw_session *session);

/* Copies the text of the last call that failed on this session into `buffer`, one line that ends in
 * a 0 byte; the rest of the `length` bytes is filled with 0. Before any failure the text is empty.
 * A later success or reading it does not clear it. INSUFFICIENT_OUTPUT_SIZE, buffer untouched, if
 * `length` has no room for text and 0 byte. States: all. */
NNFW_STATUS nnfw_get_last_error_message(nnfw_session *session, char *buffer, size_t length);

/* ---- before preparing ---- */

/* Loads a model: a .circle or .tflite file (the extension decides, in upper or lower case), or a
 * directory that is an nnpackage. `path` has at most 1023 bytes. The file is checked completely
 * before anything of it is used; ERROR if it cannot be read, is damaged, or uses what the library
 * does not know. After a failure another load may be tried. States: new; becomes loaded. */
NNFW_STATUS nnfw_load_model_from_file(nnfw_session *session, const char *path);

/* Deprecated, use nnfw_set_input_tensorinfo. Returns DEPRECATED_API. States: all. */
NNFW_STATUS nnfw_apply_tensorinfo(nnfw_session *session, uint32_t index,
                                  nnfw_tensorinfo tensor_info);

/* Sets the shape of input `index` for all runs to come. Rank 0 .. NNFW_MAX_RANK, every dimension at
 * least 1; `dtype` is ignored, a model's types are fixed. Before nnfw_prepare the shapes of all
 * tensors follow when the model is prepared, after it in the next run; nnfw_input_tensorinfo shows
 * the new shape at once, nnfw_output_tensorinfo only then. Where the model cannot work with the
 * shape, nnfw_prepare or nnfw_run says so. States: loaded, prepared, ran. */
NNFW_STATUS nnfw_set_input_tensorinfo(nnfw_session *session, uint32_t index,
                                      const nnfw_tensorinfo *tensor_info);

/* Makes the model ready for inference: infers shapes, chooses kernels, plans memory. ERROR if an
 * operator, type or shape is not supported or no available backend is known; the session then stays
 * loaded and may be prepared again. States: loaded; becomes prepared. */
NNFW_STATUS nnfw_prepare(nnfw_session *session);

/* ---- inference ---- */

/* Runs the model once, from the bound inputs to the bound outputs. ERROR if an input or output is
 * not bound or smaller than its tensor; INSUFFICIENT_OUTPUT_SIZE if an output whose shape only the
 * run can tell does not fit its buffer. After a failure buffers and shapes can be set again and the
 * run repeated. With training prepared it runs a batch, as long as a training step, through the
 * weights as trained so far; nnfw_set_input and nnfw_set_output then bind in the place of
 * nnfw_train_set_input and nnfw_train_set_output.
 * States: prepared, ran (becomes ran); training, trained (keeps the state). */
NNFW_STATUS nnfw_run(nnfw_session *session);

/* Starts one run in another thread and returns at once. Until nnfw_await only queries are allowed,
 * and the bound buffers belong to the run. A failure of the run itself is reported by nnfw_await.
 * States: prepared, ran; becomes running. */
NNFW_STATUS nnfw_run_async(nnfw_session *session);

/* Waits for the run begun by nnfw_run_async and returns its status, as nnfw_run would have. ERROR,
 * not INVALID_STATE, if there is none. States: running; becomes ran. */
NNFW_STATUS nnfw_await(nnfw_session *session);

/* Binds `length` bytes at `buffer` as input `index`, 0 .. inputs - 1. It is read by every run until
 * another is bound, and never written. It may be larger than the tensor; whether it is large enough
 * is checked by the run. NULL with length 0 unbinds; NULL with another length is an ERROR. `type`
 * is ignored: elements are of the type nnfw_input_tensorinfo tells.
 * States: prepared, ran, training, trained. */
NNFW_STATUS nnfw_set_input(nnfw_session *session, uint32_t index, NNFW_TYPE type,
                           const void *buffer, size_t length);

/* Binds `length` bytes at `buffer` as output `index`, 0 .. outputs - 1, written by every run until
 * another is bound. Otherwise as nnfw_set_input. States: prepared, ran, training, trained. */
NNFW_STATUS nnfw_set_output(nnfw_session *session, uint32_t index, NNFW_TYPE type, void *buffer,
                            size_t length);

/* Stores the number of inputs of the model. When training is prepared the expected tensors, one
 * per output, are inputs too and counted behind those of the model: ask before.
 * INVALID_STATE comes before UNEXPECTED_NULL. States: all but new. */
NNFW_STATUS nnfw_input_size(nnfw_session *session, uint32_t *number);

/* Stores the number of outputs of the model. INVALID_STATE comes before UNEXPECTED_NULL.
 * States: all but new. */
NNFW_STATUS nnfw_output_size(nnfw_session *session, uint32_t *number);

/* Says in which order the dimensions of input `index` are in the caller's buffer. With
 * CHANNELS_FIRST a tensor of rank 4 is converted in every run and its info, once prepared, is
 * [N,C,H,W]; lower ranks are left alone. States: loaded, prepared. */
NNFW_STATUS nnfw_set_input_layout(nnfw_session *session, uint32_t index, NNFW_LAYOUT layout);

/* The same for output `index`. States: loaded, prepared. */
NNFW_STATUS nnfw_set_output_layout(nnfw_session *session, uint32_t index, NNFW_LAYOUT layout);

/* Stores type and shape of input `index` in *tensor_info; dims from `rank` on stay as they are.
 * ERROR if there is no such input or NNFW_TYPE has no name for its type. With training prepared
 * dims[0] is the batch size, and the indices behind the model's inputs are the expected tensors.
 * States: all but new. */
NNFW_STATUS nnfw_input_tensorinfo(nnfw_session *session, uint32_t index,
                                  nnfw_tensorinfo *tensor_info);

/* Stores type and shape of output `index`: those of the model file when loaded, inferred from the
 * inputs once prepared, those of the last successful run after one. States: all but new. */
NNFW_STATUS nnfw_output_tensorinfo(nnfw_session *session, uint32_t index,
                                   nnfw_tensorinfo *tensor_info);

/* ---- settings, queries ---- */

/* Names the backends that may be used, separated by ';', at most 31 bytes, in the place of those
 * set before. This library has one engine, which answers to "cpu", "ruy", "builtin", "xnnpack" and
 * "train", for inference and training alike; other names are passed over, and nnfw_prepare fails if
 * none is left. States: loaded. */
NNFW_STATUS nnfw_set_available_backends(nnfw_session *session, const char *backends);

/* Deprecated, use nnfw_set_available_backends. Returns DEPRECATED_API. States: all. */
NNFW_STATUS nnfw_set_op_backend(nnfw_session *session, const char *op, const char *backend);

/* Stores the answer to `id` in *val. The session is not looked at and may be NULL. ERROR for an
 * unknown id, and also if `val` is NULL. States: all. */
NNFW_STATUS nnfw_query_info_u32(nnfw_session *session, NNFW_INFO_ID id, uint32_t *val);

/* Sets the directory for files the library writes on its own account, such as traces. "" is
 * accepted: there is none then. Default ".". UNEXPECTED_NULL comes before INVALID_STATE.
 * States: new. */
NNFW_STATUS nnfw_set_workspace(nnfw_session *session, const char *dir);

/* cffi: end */

#ifdef __cplusplus
}
#endif

#endif
