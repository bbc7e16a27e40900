/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training, custom operators, names of tensors, signatures and run-time settings.
 *
 * States, statuses and ownership are to be read as the head of nnfw.h says. Training begins with a
 * whole program as example, below.
 */
#ifndef __NNFW_EXPERIMENTAL_H__
#define __NNFW_EXPERIMENTAL_H__

#include "nnfw.h"

#ifndef __cplusplus
#include <stdbool.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* cffi: begin */

/* ---- custom operators ---- */

/* A tensor as a custom kernel sees it. */
typedef struct {
  nnfw_tensorinfo type;
  /* Its elements: read-only for an input, to be filled for an output. Valid during the call. */
  void *allocation;
} nnfw_operand;

/* Inputs and outputs of one execution of a custom operator. */
typedef struct {
  size_t ninputs;
  nnfw_operand *inputs;
  size_t noutputs;
  nnfw_operand *outputs;
} nnfw_custom_kernel_params;

/* Computes the outputs from the inputs. `userdata` is the session's copy of the custom options of
 * the operator in the model, `userdata_size` bytes. Called in the thread that runs the model. */
typedef void (*nnfw_custom_eval)(nnfw_custom_kernel_params *params, char *userdata,
                                 size_t userdata_size);

/* What implements a custom operator. */
typedef struct {
  nnfw_custom_eval eval_function;
} custom_kernel_registration_info;

/* Registers the kernel for operators whose custom code is exactly `id`, in time if before
 * nnfw_prepare. Both arguments are copied. For an id that is registered already the first
 * registration stays and the call returns NO_ERROR. Shapes of the outputs must be fixed in the
 * model; custom operators cannot be trained through. States: all. */
NNFW_STATUS nnfw_register_custom_op_info(nnfw_session *session, const char *id,
                                         custom_kernel_registration_info *info);

/* ---- names of tensors ---- */

/* Stores the index of the input named `tensorname`, at most 63 bytes; of several the lowest. ERROR
 * if there is none. States: all but new. */
NNFW_STATUS nnfw_input_tensorindex(nnfw_session *session, const char *tensorname,
                                   uint32_t *index);

/* The same for an output. States: all but new. */
NNFW_STATUS nnfw_output_tensorindex(nnfw_session *session, const char *tensorname,
                                    uint32_t *index);

/* ---- backends, types, signatures ---- */

/* Assigns backends to operators by their index in the model: "0=cpu;1=cpu". Empty items are passed
 * over. ERROR, before INVALID_STATE, if `backend_settings` is NULL; ERROR if it is malformed or the
 * package has several models. States: loaded. */
NNFW_STATUS nnfw_set_backends_per_operation(nnfw_session *session, const char *backend_settings);

/* Deprecated, there are no pipelines any more. All three return DEPRECATED_API. States: all. */
NNFW_STATUS nnfw_prepare_pipeline(nnfw_session *session, const char *map_file_path);
NNFW_STATUS nnfw_push_pipeline_input(nnfw_session *session, void *inputs, void *lengths);
NNFW_STATUS nnfw_pop_pipeline_output(nnfw_session *session, void *outputs);

/* Has input `index` converted from float32: the caller binds float32, each run quantizes it to the
 * model's type. `type` must be NNFW_TYPE_TENSOR_FLOAT32. The info of the input tells float32 once
 * prepared. ERROR for another type, or with a signature chosen. States: loaded. */
NNFW_STATUS nnfw_set_input_type(nnfw_session *session, uint32_t index, NNFW_TYPE type);

/* The same for output `index`: each run dequantizes it to float32. States: loaded. */
NNFW_STATUS nnfw_set_output_type(nnfw_session *session, uint32_t index, NNFW_TYPE type);

/* Chooses the signature of the model that tensor infos refer to until the model is prepared. ERROR
 * if the model has none of that name. States: loaded. */
NNFW_STATUS nnfw_configure_signature(nnfw_session *session, const char *signature);

/* Chooses the signature that the next runs execute. Bound buffers, shapes and execute configs are
 * forgotten. ERROR if the model has none of that name. States: prepared, ran. */
NNFW_STATUS nnfw_set_signature_run(nnfw_session *session, const char *signature);

/* ---- training ----
 *
 * Trains, saves, and goes on from what was saved (errors: any status but 0 ends the program):
 *
 *   #include <nnfw.h>
 *   #include <nnfw_experimental.h>
 *   #include <stdio.h>
 *
 *   #define TRY(call) if ((status = (call)) != NNFW_STATUS_NO_ERROR) goto done
 *
 *   static float images[1000][28 * 28], labels[1000][10];   // labels one-hot
 *
 *   int main(void)
 *   {
 *     nnfw_session *session = NULL;
 *     NNFW_STATUS status = nnfw_create_session(&session);
 *     if (status != NNFW_STATUS_NO_ERROR)
 *       return 1;
 *     nnfw_train_info info = NNFW_TRAIN_INFO_INIT;
 *     info.batch_size = 32;
 *     info.loss_info.loss = NNFW_TRAIN_LOSS_CATEGORICAL_CROSSENTROPY;
 *     info.opt = NNFW_TRAIN_OPTIMIZER_ADAM;
 *     info.num_of_trainable_ops = NNFW_TRAIN_TRAINABLE_ALL;
 *     TRY(nnfw_load_model_from_file(session, "digits.circle"));
 *     TRY(nnfw_set_available_backends(session, "train"));
 *     TRY(nnfw_train_set_traininfo(session, &info));
 *     TRY(nnfw_train_prepare(session));
 *     if (nnfw_train_import_checkpoint(session, "digits.ckpt") != NNFW_STATUS_NO_ERROR)
 *       puts("no checkpoint yet, starting from the model's weights");
 *     for (int32_t first = 0; first < 1000; first += 32) {
 *       int32_t n = first + 32 <= 1000 ? 32 : 1000 - first;  // the last step has 8 samples
 *       nnfw_tensorinfo x = {NNFW_TYPE_TENSOR_FLOAT32, 4, {n, 28, 28, 1}};
 *       nnfw_tensorinfo y = {NNFW_TYPE_TENSOR_FLOAT32, 2, {n, 10}};
 *       float loss;
 *       TRY(nnfw_train_set_input(session, 0, images[first], &x));
 *       TRY(nnfw_train_set_expected(session, 0, labels[first], &y));
 *       TRY(nnfw_train(session, true));
 *       TRY(nnfw_train_get_loss(session, 0, &loss));
 *       printf("%d samples: loss %.4f\n", (int)(first + n), loss);
 *     }
 *     TRY(nnfw_train_export_checkpoint(session, "digits.ckpt"));
 *     TRY(nnfw_train_export_circle(session, "digits.trained.circle"));
 *   done:
 *     if (status != NNFW_STATUS_NO_ERROR) {
 *       char text[1024] = "";
 *       nnfw_get_last_error_message(session, text, sizeof text);
 *       fprintf(stderr, "%s\n", text);
 *     }
 *     nnfw_close_session(session);
 *     return status != NNFW_STATUS_NO_ERROR;
 *   }
 */

/* What is minimized, per sample over its elements: p is the prediction, t the expected tensor. */
typedef enum {
  NNFW_TRAIN_LOSS_UNDEFINED = 0,
  /* mean((p - t)^2) */
  NNFW_TRAIN_LOSS_MEAN_SQUARED_ERROR = 1,
  /* -sum(t * ln(p)), p at least 1e-20. Where the model does not end in a softmax, p is the softmax
   * of its output. */
  NNFW_TRAIN_LOSS_CATEGORICAL_CROSSENTROPY = 2
} NNFW_TRAIN_LOSS;

/* How the losses of the samples of a batch become one number. */
typedef enum {
  NNFW_TRAIN_LOSS_REDUCTION_UNDEFINED = 0,
  /* Their mean. */
  NNFW_TRAIN_LOSS_REDUCTION_SUM_OVER_BATCH_SIZE = 1,
  NNFW_TRAIN_LOSS_REDUCTION_SUM = 2
} NNFW_TRAIN_LOSS_REDUCTION;

/* How weights follow their gradients. */
typedef enum {
  NNFW_TRAIN_OPTIMIZER_UNDEFINED = 0,
  NNFW_TRAIN_OPTIMIZER_SGD = 1,
  /* beta1 0.9, beta2 0.999, epsilon 1e-7, unless onert_train_set_options says otherwise. */
  NNFW_TRAIN_OPTIMIZER_ADAM = 2
} NNFW_TRAIN_OPTIMIZER;

/* Values of nnfw_train_info.num_of_trainable_ops that are no counts. */
typedef enum {
  /* Told only: the set that the model file brings along is not its last operators. */
  NNFW_TRAIN_TRAINABLE_INCORRECT_STATE = -2,
  NNFW_TRAIN_TRAINABLE_ALL = -1,
  NNFW_TRAIN_TRAINABLE_NONE = 0
} NNFW_TRAIN_NUM_OF_TRAINABLE_OPS_SPECIAL_VALUES;

typedef struct nnfw_loss_info {
  NNFW_TRAIN_LOSS loss;
  NNFW_TRAIN_LOSS_REDUCTION reduction_type;
} nnfw_loss_info;

/* cffi: end */

/* The same struct twice: with default values where the language has them. */
#if defined(__cplusplus) && __cplusplus >= 201103L

typedef struct nnfw_train_info {
  float learning_rate = 0.001f;
  uint32_t batch_size = 1;
  nnfw_loss_info loss_info = {NNFW_TRAIN_LOSS_MEAN_SQUARED_ERROR,
                              NNFW_TRAIN_LOSS_REDUCTION_SUM_OVER_BATCH_SIZE};
  NNFW_TRAIN_OPTIMIZER opt = NNFW_TRAIN_OPTIMIZER_SGD;
  int32_t num_of_trainable_ops = NNFW_TRAIN_TRAINABLE_NONE;
} nnfw_train_info;

#else

/* cffi: begin */

typedef struct nnfw_train_info {
  /* Greater than 0 and finite. */
  float learning_rate;
  /* Samples of one step, at least 1. */
  uint32_t batch_size;
  nnfw_loss_info loss_info;
  NNFW_TRAIN_OPTIMIZER opt;
  /* N: weights and biases of the last N operators of the model, in the order of the file, are
   * trained. Every operator counts, those without weights too. Or one of the special values. */
  int32_t num_of_trainable_ops;
} nnfw_train_info;

/* cffi: end */

#endif

/* Initializer of an nnfw_train_info with the values that C++ gives it by default: learning rate
 * 0.001, batch size 1, mean squared error averaged over the batch, SGD, and NO trainable operators:
 * set num_of_trainable_ops. */
#define NNFW_TRAIN_INFO_INIT                                                                       \
  {                                                                                                \
    0.001f, 1,                                                                                     \
      {NNFW_TRAIN_LOSS_MEAN_SQUARED_ERROR, NNFW_TRAIN_LOSS_REDUCTION_SUM_OVER_BATCH_SIZE},         \
      NNFW_TRAIN_OPTIMIZER_SGD, NNFW_TRAIN_TRAINABLE_NONE                                          \
  }

/* cffi: begin */

/* Stores the training info: what nnfw_train_set_traininfo has set or the model's own metadata
 * CIRCLE_TRAINING says; all 0 with neither. If the operators that the metadata lists are not the
 * last ones, *info is filled in, num_of_trainable_ops being -2, and INVALID_STATE is returned.
 * States: all but new. */
NNFW_STATUS nnfw_train_get_traininfo(nnfw_session *session, nnfw_train_info *info);

/* Sets the training info. ERROR, with nothing stored, for an unknown loss, reduction or optimizer,
 * or num_of_trainable_ops below -1 or above the number of operators. Learning rate and batch size
 * are looked at by nnfw_train_prepare. States: loaded. */
NNFW_STATUS nnfw_train_set_traininfo(nnfw_session *session, const nnfw_train_info *info);

/* Makes the model ready for training: adds loss, gradients and updates, plans memory for
 * batch_size samples a step, and begins to count steps at 0. Inputs and outputs get the batch as
 * leading dimension, in place of the 1 or -1 in the model file. ERROR if the training info is not
 * complete, or names the operators that cannot be trained through; the session then stays loaded
 * and may be prepared again, with other info too. States: loaded; becomes training. */
NNFW_STATUS nnfw_train_prepare(nnfw_session *session);

/* Binds the samples of input `index` for the steps to come. The buffer is read at every
 * nnfw_train, never written, and may be refilled between steps. `input_info` tells its type and
 * shape: those of the input, with dims[0] the number of samples, 1 .. batch_size; all inputs and
 * expected tensors of a step must have the same. NULL: a full batch of the right type. Another
 * size is an ERROR. UNEXPECTED_NULL comes before INVALID_STATE. States: training, trained. */
NNFW_STATUS nnfw_train_set_input(nnfw_session *session, uint32_t index, const void *input,
                                 const nnfw_tensorinfo *input_info);

/* Binds what output `index` should be for these samples, shaped as the output: for categorical
 * cross-entropy probabilities of the classes (one-hot), not class numbers. Otherwise as
 * nnfw_train_set_input. States: training, trained. */
NNFW_STATUS nnfw_train_set_expected(nnfw_session *session, uint32_t index, const void *expected,
                                    const nnfw_tensorinfo *expected_info);

/* Binds `length` bytes at `buffer` for the predictions of output `index`, which every nnfw_train
 * writes, from the forward pass before the update. NULL with length 0 unbinds; NULL with another
 * length is an ERROR. `type` is ignored. States: training, trained. */
NNFW_STATUS nnfw_train_set_output(nnfw_session *session, uint32_t index, NNFW_TYPE type,
                                  void *buffer, size_t length);

/* Does one step: forward pass and losses; with `update_weights` also gradients, update of the
 * weights and of the optimizer's state, and one more on the step count. ERROR if an input or
 * expected tensor is not bound, or an output buffer is too small; without `update_weights` also if
 * an output is not bound. A step that fails changes no weight.
 * States: training, trained; becomes trained. */
NNFW_STATUS nnfw_train(nnfw_session *session, bool update_weights);

/* Stores the loss of output `index` in the last step, from before the update: the mean or the sum
 * over the samples, as reduction_type says. UNEXPECTED_NULL comes before INVALID_STATE.
 * States: trained. */
NNFW_STATUS nnfw_train_get_loss(nnfw_session *session, uint32_t index, float *loss);

/* Writes the model with its weights as they are now, as a circle file for inference. Shapes, with
 * them the batch, are those of the loaded model. Here as below, `path` is replaced as a whole or,
 * on failure, left as it was. UNEXPECTED_NULL comes before INVALID_STATE. States: trained. */
NNFW_STATUS nnfw_train_export_circle(nnfw_session *session, const char *path);

/* Replaces weights, optimizer state and step count by those in a checkpoint file, which must come
 * from the same model with the same optimizer and trainable operators. The file is checked before
 * anything is changed. UNEXPECTED_NULL comes before INVALID_STATE. States: training, trained. */
NNFW_STATUS nnfw_train_import_checkpoint(nnfw_session *session, const char *path);

/* Writes weights, optimizer state and step count to a checkpoint file.
 * UNEXPECTED_NULL comes before INVALID_STATE. States: trained. */
NNFW_STATUS nnfw_train_export_checkpoint(nnfw_session *session, const char *path);

/* Stores type and shape of input `index` of a full training batch. States: training, trained. */
NNFW_STATUS nnfw_train_input_tensorinfo(nnfw_session *session, uint32_t index,
                                        nnfw_tensorinfo *info);

/* The same for the expected tensor of output `index`. States: training, trained. */
NNFW_STATUS nnfw_train_expected_tensorinfo(nnfw_session *session, uint32_t index,
                                           nnfw_tensorinfo *info);

/* ---- quantization and code generation on the device ----
 *
 * This library has neither a quantizer nor a code generator: these functions fail. */

typedef enum {
  NNFW_QUANTIZE_TYPE_NOT_SET = 0,
  /* Asymmetric uint8. */
  NNFW_QUANTIZE_TYPE_U8_ASYM = 1,
  /* Symmetric int16. */
  NNFW_QUANTIZE_TYPE_I16_SYM = 2,
  /* Weights only, symmetric int8. */
  NNFW_QUANTIZE_TYPE_WO_I8_SYM = 3,
  /* Weights only, symmetric int16. */
  NNFW_QUANTIZE_TYPE_WO_I16_SYM = 4
} NNFW_QUANTIZE_TYPE;

/* What generated code should be good at. */
typedef enum {
  NNFW_CODEGEN_PREF_DEFAULT = 0,
  NNFW_CODEGEN_PREF_PERFORMANCE_FIRST = 1,
  NNFW_CODEGEN_PREF_MEMORY_FIRST = 2,
  NNFW_CODEGEN_PREF_COMPILE_TIME_FIRST = 3
} NNFW_CODEGEN_PREF;

/* Would set the type to quantize to; returns ERROR.
 * States: all but new and running. */
NNFW_STATUS nnfw_set_quantization_type(nnfw_session *session, NNFW_QUANTIZE_TYPE qtype);

/* Would set where the quantized model goes; returns ERROR.
 * States: all but new and running. */
NNFW_STATUS nnfw_set_quantized_model_path(nnfw_session *session, const char *path);

/* Would quantize the model; returns INVALID_STATE. States: none. */
NNFW_STATUS nnfw_quantize(nnfw_session *session);

/* Would set where generated code goes; returns ERROR. States: all but new and running. */
NNFW_STATUS nnfw_set_codegen_model_path(nnfw_session *session, const char *path);

/* Would generate code for `target` ("<name>-gen"); returns ERROR.
 * States: all but new and running. */
NNFW_STATUS nnfw_codegen(nnfw_session *session, const char *target, NNFW_CODEGEN_PREF pref);

/* Would set how many runs are recorded before quantization; returns ERROR.
 * States: all but new and running. */
NNFW_STATUS nnfw_set_odc_param_minmax_records_count(nnfw_session *session,
                                                    int minmax_records_count);

/* Would delete the file with the recorded runs; returns ERROR. States: all but running. */
NNFW_STATUS nnfw_odc_delete_minmax_file(nnfw_session *session);

/* Would run, quantize and generate code in the course of it; returns INVALID_STATE.
 * States: none. */
NNFW_STATUS nnfw_run_with_auto_compilation(nnfw_session *session, const char *target,
                                           NNFW_CODEGEN_PREF pref);

/* ---- settings of preparation and execution ---- */

typedef enum {
  /* Measures operators on all backends, to choose between them later. */
  NNFW_PREPARE_CONFIG_PROFILE = 0,
  /* The library provides the memory of outputs, see nnfw_get_output in nnfw_internal.h; bound
   * output buffers are ignored then. */
  NNFW_ENABLE_INTERNAL_OUTPUT_ALLOC = 1
} NNFW_PREPARE_CONFIG;

/* Switches a setting on. `value` is not looked at and may be NULL. ERROR for an unknown key.
 * States: loaded. */
NNFW_STATUS nnfw_set_prepare_config(nnfw_session *session, NNFW_PREPARE_CONFIG key,
                                    const char *value);

/* Switches all of them off. States: loaded. */
NNFW_STATUS nnfw_reset_prepare_config(nnfw_session *session);

/* Files are written to the workspace, see nnfw_set_workspace. */
typedef enum {
  /* Smallest and largest value of every tensor, to minmax.bin. */
  NNFW_RUN_CONFIG_DUMP_MINMAX = 0,
  /* Times of operators, to trace.json and others. */
  NNFW_RUN_CONFIG_TRACE = 1,
  /* Times of operators for the choice of backends. */
  NNFW_RUN_CONFIG_PROFILE = 2
} NNFW_RUN_CONFIG;

/* Switches a setting on for the runs to come. `value` is not looked at and may be NULL. ERROR for
 * an unknown key, and for DUMP_MINMAX and TRACE with an empty workspace. States: prepared, ran. */
NNFW_STATUS nnfw_set_execute_config(nnfw_session *session, NNFW_RUN_CONFIG key,
                                    const char *value);

/* Switches all of them off. States: prepared, ran. */
NNFW_STATUS nnfw_reset_execute_config(nnfw_session *session);

/* cffi: end */

#ifdef __cplusplus

/* C++ may leave the path out. */
NNFW_STATUS nnfw_prepare_pipeline(nnfw_session *session, const char *map_file_path = NULL);

}
#endif

#endif
