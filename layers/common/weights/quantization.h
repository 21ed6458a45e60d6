#pragma once

// What quantization_param says: with which scales a layer computes on 8-bit integers. A layer that says nothing, or
// says 32 bits, computes on floats.

#include <cstdint>
#include <vector>

#include "proto/cortado.pb.h"

namespace cortado {

/// Throws FieldError where a scale is no finite number above 0, where there are more scales than one for x or y, and
/// where those of the weights are neither one nor as many as there are outputs. Of layers that compute on floats
/// nothing is asked.
void check_quantization(const caffe::QuantizationParameter& param, int64_t outputs);

/// Whether the layer wants x and its weights as 8-bit integers.
bool wants_8_bits(const caffe::QuantizationParameter& param);

/// What x and y are multiplied by. A power of two where the older form gives the position of the point.
float scale_of_x(const caffe::QuantizationParameter& param);
/// 0 where nothing is said.
float scale_of_y(const caffe::QuantizationParameter& param);
/// One for each output.
std::vector<float> scales_of_weights(const caffe::QuantizationParameter& param, int64_t outputs);

}  // namespace cortado
