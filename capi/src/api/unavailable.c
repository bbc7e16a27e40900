// SPDX-License-Identifier: Apache-2.0
// Published functions that this version does not carry out: those that onert has retired, those
// that need tools outside a training runtime, and those still to come. Each checks its session,
// its arguments' presence and its state, and then says so.
#include "api/session.h"

static Status retired(nnfw_session *s, const char *name)
{
  return diag_fail(&s->diag, ST_DEPRECATED, "%s: Deprecated", name);
}

static Status missing(nnfw_session *s, Function function, const char *name, Status status)
{
  TRY(session_allows(s, function));
  return diag_fail(&s->diag, status, "%s is not supported by this version", name);
}

#define RETIRED(name, parameters)                                                                  \
  NNFW_STATUS nnfw_##name parameters                                                               \
  {                                                                                                \
    API_CALL(session, retired(session, "nnfw_" #name));                                            \
  }

#define MISSING(name, status, parameters, given)                                                   \
  static Status check_##name parameters                                                            \
  {                                                                                                \
    given;                                                                                         \
    return missing(session, FN_##name, "nnfw_" #name, status);                                     \
  }

// An unused parameter of these functions is unused by design.
#pragma GCC diagnostic ignored "-Wunused-parameter"

RETIRED(apply_tensorinfo, (nnfw_session *session, uint32_t index, nnfw_tensorinfo tensor_info))
RETIRED(set_op_backend, (nnfw_session *session, const char *op, const char *backend))
RETIRED(prepare_pipeline, (nnfw_session *session, const char *map_file_path))
RETIRED(push_pipeline_input, (nnfw_session *session, void *inputs, void *lengths))
RETIRED(pop_pipeline_output, (nnfw_session *session, void *outputs))

#define NOTHING (void)0
#define GIVEN(pointer) TRY(session_given(session, pointer, #pointer))

MISSING(run_async, ST_ERROR, (nnfw_session *session), NOTHING)
NNFW_STATUS nnfw_run_async(nnfw_session *session)
{
  API_CALL(session, check_run_async(session));
}

NNFW_STATUS nnfw_await(nnfw_session *session)
{
  API_CALL(session, session_fail(session, "run_await should be called after run_async"));
}

#define MISSING_CALL(name, status, parameters, arguments, given)                                   \
  MISSING(name, status, parameters, given)                                                         \
  NNFW_STATUS nnfw_##name parameters                                                               \
  {                                                                                                \
    API_CALL(session, check_##name arguments);                                                     \
  }

MISSING_CALL(set_input_layout, ST_ERROR,
             (nnfw_session *session, uint32_t index, NNFW_LAYOUT layout), (session, index, layout),
             NOTHING)
MISSING_CALL(set_output_layout, ST_ERROR,
             (nnfw_session *session, uint32_t index, NNFW_LAYOUT layout), (session, index, layout),
             NOTHING)
MISSING_CALL(set_input_type, ST_ERROR, (nnfw_session *session, uint32_t index, NNFW_TYPE type),
             (session, index, type), NOTHING)
MISSING_CALL(set_output_type, ST_ERROR, (nnfw_session *session, uint32_t index, NNFW_TYPE type),
             (session, index, type), NOTHING)
MISSING_CALL(set_backends_per_operation, ST_ERROR,
             (nnfw_session *session, const char *backend_settings), (session, backend_settings),
             NOTHING)
MISSING_CALL(configure_signature, ST_ERROR, (nnfw_session *session, const char *signature),
             (session, signature), GIVEN(signature))
MISSING_CALL(set_signature_run, ST_ERROR, (nnfw_session *session, const char *signature),
             (session, signature), GIVEN(signature))
MISSING_CALL(set_prepare_config, ST_ERROR,
             (nnfw_session *session, NNFW_PREPARE_CONFIG key, const char *value),
             (session, key, value), NOTHING)
MISSING_CALL(reset_prepare_config, ST_ERROR, (nnfw_session *session), (session), NOTHING)
MISSING_CALL(set_execute_config, ST_ERROR,
             (nnfw_session *session, NNFW_RUN_CONFIG key, const char *value),
             (session, key, value), NOTHING)
MISSING_CALL(reset_execute_config, ST_ERROR, (nnfw_session *session), (session), NOTHING)
MISSING_CALL(set_config, ST_ERROR, (nnfw_session *session, const char *key, const char *value),
             (session, key, value), NOTHING)
MISSING_CALL(get_config, ST_ERROR,
             (nnfw_session *session, const char *key, char *value, size_t value_size),
             (session, key, value, value_size), NOTHING)
MISSING_CALL(get_output, ST_ERROR,
             (nnfw_session *session, uint32_t index, nnfw_tensorinfo *out_info,
              const void **out_buffer),
             (session, index, out_info, out_buffer), GIVEN(out_info);
             GIVEN(out_buffer))
MISSING_CALL(set_quantization_type, ST_ERROR, (nnfw_session *session, NNFW_QUANTIZE_TYPE qtype),
             (session, qtype), NOTHING)
MISSING_CALL(set_quantized_model_path, ST_ERROR, (nnfw_session *session, const char *path),
             (session, path), NOTHING)
MISSING_CALL(quantize, ST_STATE, (nnfw_session *session), (session), NOTHING)
MISSING_CALL(set_codegen_model_path, ST_ERROR, (nnfw_session *session, const char *path),
             (session, path), NOTHING)
MISSING_CALL(codegen, ST_ERROR,
             (nnfw_session *session, const char *target, NNFW_CODEGEN_PREF pref),
             (session, target, pref), NOTHING)
MISSING_CALL(set_odc_param_minmax_records_count, ST_ERROR,
             (nnfw_session *session, int minmax_records_count), (session, minmax_records_count),
             NOTHING)
MISSING_CALL(odc_delete_minmax_file, ST_ERROR, (nnfw_session *session), (session), NOTHING)
MISSING_CALL(run_with_auto_compilation, ST_STATE,
             (nnfw_session *session, const char *target, NNFW_CODEGEN_PREF pref),
             (session, target, pref), NOTHING)

static Status register_custom_op(nnfw_session *session, const char *id,
                                 custom_kernel_registration_info *info)
{
  GIVEN(id);
  GIVEN(info);
  return session_fail(session,
                      "nnfw_register_custom_op_info is not supported by this version");
}

NNFW_STATUS nnfw_register_custom_op_info(nnfw_session *session, const char *id,
                                         custom_kernel_registration_info *info)
{
  API_CALL(session, register_custom_op(session, id, info));
}
