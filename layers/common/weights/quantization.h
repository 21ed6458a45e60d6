#pragma once

// quantization_param: the scales with which a layer computes on 8-bit integers. A layer without it, or with 32 bits,
// computes on floats.

#include <cstdint>
#include <vector>

#include "proto/cortado.pb.h"

namespace cortado {

/// Throws FieldError if a scale is not a finite number above 0, if x or y has several scales, or if the weights have
/// neither one scale nor one for each output. Does not check layers that compute on floats.
void check_quantization(const caffe::QuantizationParameter& param, int64_t outputs);

/// Whether the layer uses 8-bit integers for x and its weights.
bool wants_8_bits(const caffe::QuantizationParameter& param);

/// The factor of x. A power of two if the older form sets the position of the point.
float scale_of_x(const caffe::QuantizationParameter& param);
/// The factor of y; 0 if it is not set.
float scale_of_y(const caffe::QuantizationParameter& param);
/// One for each output.
std::vector<float> scales_of_weights(const caffe::QuantizationParameter& param, int64_t outputs);

}  // namespace cortado
