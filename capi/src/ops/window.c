// SPDX-License-Identifier: Apache-2.0
#include "ops/window.h"

bool window_axis(bool same, int32_t in, int32_t filter, int32_t stride, int32_t dilation,
                 int32_t *out, int32_t *before)
{
  int64_t extent = ((int64_t)filter - 1) * dilation + 1;
  *before = 0;
  if (extent > 1 << 30)
    return false;
  if (same) {
    *out = (int32_t)(((int64_t)in + stride - 1) / stride);
    int64_t pad = (int64_t)(*out - 1) * stride + extent - in;
    if (in > 0 && pad > 0)
      *before = (int32_t)(pad / 2);
    return true;
  }
  if (in < extent)
    return false;
  *out = (int32_t)((in - extent) / stride + 1);
  return true;
}

Status window_positive(int32_t value, const char *name, Diag *d)
{
  enum { MOST = 1 << 20 }; // keeps products of two of them well inside int64
  if (value <= 0 || value > MOST)
    return diag_fail(d, ST_ERROR, "%s is %d, wanted 1 to %d", name, value, MOST);
  return ST_OK;
}

Status window_parse(const FbTable *options, int stride_w_field, WindowAttr *w, Diag *d)
{
  int8_t padding = fb_i8(*options, 0, 0);
  if (padding != 0 && padding != 1)
    return diag_fail(d, ST_ERROR, "padding is %d, wanted 0 (SAME) or 1 (VALID)", padding);
  w->same = padding == 0;
  w->stride_w = fb_i32(*options, stride_w_field, 0);
  w->stride_h = fb_i32(*options, stride_w_field + 1, 0);
  w->dilation_h = w->dilation_w = 1;
  TRY(window_positive(w->stride_w, "stride_w", d));
  return window_positive(w->stride_h, "stride_h", d);
}

KernelAct kernel_act(ActKind act)
{
  static const KernelAct table[] = {[ACT_NONE] = KACT_NONE,
                                    [ACT_RELU] = KACT_RELU,
                                    [ACT_RELU_N1_TO_1] = KACT_RELU_N1_TO_1,
                                    [ACT_RELU6] = KACT_RELU6,
                                    [ACT_TANH] = KACT_TANH};
  return table[act];
}
