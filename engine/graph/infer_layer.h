#pragma once

#include <vector>

#include "layers/layer.h"
#include "proto/cortado.pb.h"

namespace cortado::graph {

/// The shapes of a single layer's tops and weights in phase TEST, without its dataset. Throws FieldError for an unknown
/// type, a number of bottoms or tops that the type does not take, and like Layer::infer().
LayerShapes infer_layer(const caffe::LayerParameter& layer, const std::vector<Shape>& x);

}  // namespace cortado::graph
