// SPDX-License-Identifier: Apache-2.0
// The binary interface of the published headers: sizes, offsets and values that programs built
// against onert rely on. To compile this file is the test, as C11 and as C++17, where the structs
// have default values but must lie in memory the same way. LP64.
#include <nnfw/nnfw.h>
#include <nnfw/nnfw_experimental.h>
#include <nnfw/nnfw_internal.h>
#include <nnfw/nnfw_version.h>
#include <nnfw/onert_ext.h>

#include <assert.h>

#ifdef __cplusplus
#include <type_traits>
#define ALIGN(type) alignof(type)
#define IS_UNSIGNED(type) std::is_same_v<std::underlying_type_t<type>, unsigned>
#define IS_SIGNED(type) std::is_same_v<std::underlying_type_t<type>, int>
#else
#define ALIGN(type) _Alignof(type)
#define IS_UNSIGNED(type) ((type)-1 > 0)
#define IS_SIGNED(type) ((type)-1 < 0)
#endif

#define VALUE(name, value) static_assert((long long)(name) == (value), #name)
#define ENUM(type) static_assert(sizeof(type) == 4 && ALIGN(type) == 4 && IS_UNSIGNED(type), #type)
#define STRUCT(type, size, align)                                                                  \
  static_assert(sizeof(type) == (size) && ALIGN(type) == (align), #type)
#define FIELD(type, field, offset, size)                                                           \
  static_assert(offsetof(type, field) == (offset) && sizeof(((type *)0)->field) == (size),         \
                #type "." #field)

VALUE(NNFW_VERSION, 0x01001f00);
VALUE(NNFW_MAX_RANK, 6);

ENUM(NNFW_TYPE);
VALUE(NNFW_TYPE_TENSOR_FLOAT32, 0);
VALUE(NNFW_TYPE_TENSOR_INT32, 1);
VALUE(NNFW_TYPE_TENSOR_QUANT8_ASYMM, 2);
VALUE(NNFW_TYPE_TENSOR_BOOL, 3);
VALUE(NNFW_TYPE_TENSOR_UINT8, 4);
VALUE(NNFW_TYPE_TENSOR_INT64, 5);
VALUE(NNFW_TYPE_TENSOR_QUANT8_ASYMM_SIGNED, 6);
VALUE(NNFW_TYPE_TENSOR_QUANT16_SYMM_SIGNED, 7);

ENUM(NNFW_STATUS);
VALUE(NNFW_STATUS_NO_ERROR, 0);
VALUE(NNFW_STATUS_ERROR, 1);
VALUE(NNFW_STATUS_UNEXPECTED_NULL, 2);
VALUE(NNFW_STATUS_INVALID_STATE, 3);
VALUE(NNFW_STATUS_OUT_OF_MEMORY, 4);
VALUE(NNFW_STATUS_INSUFFICIENT_OUTPUT_SIZE, 5);
VALUE(NNFW_STATUS_DEPRECATED_API, 6);

ENUM(NNFW_LAYOUT);
VALUE(NNFW_LAYOUT_NONE, 0);
VALUE(NNFW_LAYOUT_CHANNELS_LAST, 1);
VALUE(NNFW_LAYOUT_CHANNELS_FIRST, 2);

ENUM(NNFW_INFO_ID);
VALUE(NNFW_INFO_ID_VERSION, 0);

ENUM(NNFW_TRAIN_LOSS);
VALUE(NNFW_TRAIN_LOSS_UNDEFINED, 0);
VALUE(NNFW_TRAIN_LOSS_MEAN_SQUARED_ERROR, 1);
VALUE(NNFW_TRAIN_LOSS_CATEGORICAL_CROSSENTROPY, 2);

ENUM(NNFW_TRAIN_LOSS_REDUCTION);
VALUE(NNFW_TRAIN_LOSS_REDUCTION_UNDEFINED, 0);
VALUE(NNFW_TRAIN_LOSS_REDUCTION_SUM_OVER_BATCH_SIZE, 1);
VALUE(NNFW_TRAIN_LOSS_REDUCTION_SUM, 2);

ENUM(NNFW_TRAIN_OPTIMIZER);
VALUE(NNFW_TRAIN_OPTIMIZER_UNDEFINED, 0);
VALUE(NNFW_TRAIN_OPTIMIZER_SGD, 1);
VALUE(NNFW_TRAIN_OPTIMIZER_ADAM, 2);

static_assert(sizeof(NNFW_TRAIN_NUM_OF_TRAINABLE_OPS_SPECIAL_VALUES) == 4 &&
                IS_SIGNED(NNFW_TRAIN_NUM_OF_TRAINABLE_OPS_SPECIAL_VALUES),
              "the only enum with negative values");
VALUE(NNFW_TRAIN_TRAINABLE_INCORRECT_STATE, -2);
VALUE(NNFW_TRAIN_TRAINABLE_ALL, -1);
VALUE(NNFW_TRAIN_TRAINABLE_NONE, 0);

ENUM(NNFW_QUANTIZE_TYPE);
VALUE(NNFW_QUANTIZE_TYPE_NOT_SET, 0);
VALUE(NNFW_QUANTIZE_TYPE_U8_ASYM, 1);
VALUE(NNFW_QUANTIZE_TYPE_I16_SYM, 2);
VALUE(NNFW_QUANTIZE_TYPE_WO_I8_SYM, 3);
VALUE(NNFW_QUANTIZE_TYPE_WO_I16_SYM, 4);

ENUM(NNFW_CODEGEN_PREF);
VALUE(NNFW_CODEGEN_PREF_DEFAULT, 0);
VALUE(NNFW_CODEGEN_PREF_PERFORMANCE_FIRST, 1);
VALUE(NNFW_CODEGEN_PREF_MEMORY_FIRST, 2);
VALUE(NNFW_CODEGEN_PREF_COMPILE_TIME_FIRST, 3);

ENUM(NNFW_PREPARE_CONFIG);
VALUE(NNFW_PREPARE_CONFIG_PROFILE, 0);
VALUE(NNFW_ENABLE_INTERNAL_OUTPUT_ALLOC, 1);

ENUM(NNFW_RUN_CONFIG);
VALUE(NNFW_RUN_CONFIG_DUMP_MINMAX, 0);
VALUE(NNFW_RUN_CONFIG_TRACE, 1);
VALUE(NNFW_RUN_CONFIG_PROFILE, 2);

STRUCT(nnfw_tensorinfo, 32, 4);
FIELD(nnfw_tensorinfo, dtype, 0, 4);
FIELD(nnfw_tensorinfo, rank, 4, 4);
FIELD(nnfw_tensorinfo, dims, 8, 24);

STRUCT(nnfw_operand, 40, 8);
FIELD(nnfw_operand, type, 0, 32);
FIELD(nnfw_operand, allocation, 32, 8);

STRUCT(nnfw_custom_kernel_params, 32, 8);
FIELD(nnfw_custom_kernel_params, ninputs, 0, 8);
FIELD(nnfw_custom_kernel_params, inputs, 8, 8);
FIELD(nnfw_custom_kernel_params, noutputs, 16, 8);
FIELD(nnfw_custom_kernel_params, outputs, 24, 8);

STRUCT(custom_kernel_registration_info, 8, 8);
FIELD(custom_kernel_registration_info, eval_function, 0, 8);

STRUCT(nnfw_loss_info, 8, 4);
FIELD(nnfw_loss_info, loss, 0, 4);
FIELD(nnfw_loss_info, reduction_type, 4, 4);

STRUCT(nnfw_train_info, 24, 4);
FIELD(nnfw_train_info, learning_rate, 0, 4);
FIELD(nnfw_train_info, batch_size, 4, 4);
FIELD(nnfw_train_info, loss_info, 8, 8);
FIELD(nnfw_train_info, opt, 16, 4);
FIELD(nnfw_train_info, num_of_trainable_ops, 20, 4);

// This library's own structs may grow at their end, and nowhere else.
FIELD(onert_train_options, struct_size, 0, 4);
FIELD(onert_train_options, keep_gradients, 4, 4);
FIELD(onert_train_options, adam_beta1, 8, 8);
FIELD(onert_train_options, adam_beta2, 16, 8);
FIELD(onert_train_options, adam_epsilon, 24, 8);
FIELD(onert_train_options, trainable, 32, 8);
FIELD(onert_parameter_info, struct_size, 0, 4);
FIELD(onert_parameter_info, tensor_index, 4, 4);
FIELD(onert_parameter_info, name, 8, 8);
FIELD(onert_parameter_info, tensor, 16, 32);

#ifdef __cplusplus
static_assert(std::is_standard_layout<nnfw_train_info>::value, "nnfw_train_info");
static_assert(std::is_trivially_copyable<nnfw_train_info>::value, "nnfw_train_info");
constexpr nnfw_train_info defaults;
constexpr nnfw_train_info initialized = NNFW_TRAIN_INFO_INIT;
static_assert(defaults.learning_rate == 0.001f && initialized.learning_rate == 0.001f, "");
static_assert(defaults.batch_size == 1 && initialized.batch_size == 1, "");
static_assert(defaults.loss_info.loss == 1 && initialized.loss_info.loss == 1, "");
static_assert(defaults.loss_info.reduction_type == 1, "");
static_assert(initialized.loss_info.reduction_type == 1, "");
static_assert(defaults.opt == 1 && initialized.opt == 1, "");
static_assert(defaults.num_of_trainable_ops == 0 && initialized.num_of_trainable_ops == 0, "");
// The path may be left out in C++.
typedef decltype(nnfw_prepare_pipeline(static_cast<nnfw_session *>(nullptr))) pipeline_status;
#endif

int main(void)
{
  return 0;
}
