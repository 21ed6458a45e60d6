#include "layers/common/weights/quantization.h"

#include <cmath>

#include "core/error.h"
#include "core/text/text.h"

namespace cortado {

namespace {

using QuantizationParam = caffe::QuantizationParameter;
using Scales = google::protobuf::RepeatedField<float>;
using QuantizationPoints = google::protobuf::RepeatedField<int32_t>;

const char* const kParam = "quantization_param";

void check_scales(const char* name, const Scales& scales, int64_t most) {
  const std::string field = std::string(kParam) + "." + name;
  for (int i = 0; i < scales.size(); ++i)
    if (!(scales[i] > 0) || !std::isfinite(scales[i]))
      throw FieldError(entry(field, i), std::string(name) + " is not a finite number above 0",
                       "set the factor by which values are multiplied before rounding");
  if (scales.size() > 1 && scales.size() != most)
    throw FieldError(entry(field, scales.size() - 1),
                     std::to_string(scales.size()) + " values of " + name + ", not one" +
                         (most > 1 ? " or " + std::to_string(most) : ""),
                     most > 1 ? "set one scale, or one for each output" : "set one scale");
}

void check_points(const char* name, const QuantizationPoints& points) {
  for (int i = 0; i < points.size(); ++i)
    if (points[i] < -64 || points[i] > 64)
      throw FieldError(entry(std::string(kParam) + "." + name, i), std::string(name) + " is outside [-64, 64]",
                       "set the exponent of 2 by which values are multiplied");
}

/// Scale `i` of a list whose last value applies to all that follow; 0 if both lists are empty.
float scale_at(const Scales& scales, const QuantizationPoints& points, int64_t i) {
  if (!scales.empty()) return scales[int(std::min<int64_t>(i, scales.size() - 1))];
  return points.empty() ? 0.0f : std::ldexp(1.0f, points[int(std::min<int64_t>(i, points.size() - 1))]);
}

bool has_scale(const Scales& scales, const QuantizationPoints& points) { return !scales.empty() || !points.empty(); }

}  // namespace

void check_quantization(const QuantizationParam& param, int64_t outputs) {
  if (!wants_8_bits(param)) return;
  check_scales("scale_in", param.scale_in(), 1);
  check_scales("scale_out", param.scale_out(), 1);
  check_scales("scale_params", param.scale_params(), outputs);
  check_points("fl_layer_in", param.fl_layer_in());
  check_points("fl_layer_out", param.fl_layer_out());
  check_points("fl_params", param.fl_params());
}

bool wants_8_bits(const QuantizationParam& param) {
  return param.bw_layer_in() == 8 && param.bw_params() == 8 && has_scale(param.scale_in(), param.fl_layer_in()) &&
         has_scale(param.scale_params(), param.fl_params());
}

float scale_of_x(const QuantizationParam& param) { return scale_at(param.scale_in(), param.fl_layer_in(), 0); }

float scale_of_y(const QuantizationParam& param) { return scale_at(param.scale_out(), param.fl_layer_out(), 0); }

std::vector<float> scales_of_weights(const QuantizationParam& param, int64_t outputs) {
  std::vector<float> scales;
  for (int64_t k = 0; k < outputs; ++k) scales.push_back(scale_at(param.scale_params(), param.fl_params(), k));
  return scales;
}

}  // namespace cortado
