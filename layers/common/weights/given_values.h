#pragma once

// Weights whose first values a layer computes by itself, as setup() of a layer in Python does: a filler that no text
// can spell, since the values go along as a field that the schema does not have.

#include <vector>

#include "core/shape.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// A filler of these values.
caffe::FillerParameter filler_of_values(const std::vector<float>& values);

/// Writes the values of such a filler, if it is one and has as many as the shape wants.
bool put_given_values(const caffe::FillerParameter& filler, const Shape& shape, float* plain);

}  // namespace cortado
