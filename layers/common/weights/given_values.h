#pragma once

// Weights whose initial values the layer computes, such as setup() of a Python layer. Implemented as a filler with the
// values in a field outside the schema, so text files cannot spell it.

#include <vector>

#include "core/shape.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// A filler of these values.
caffe::FillerParameter filler_of_values(const std::vector<float>& values);

/// Writes the values if `filler` is such a filler with as many values as the shape needs; returns whether it did.
bool put_given_values(const caffe::FillerParameter& filler, const Shape& shape, float* plain);

}  // namespace cortado
