#pragma once

#include <vector>

#include "core/shape.h"
#include "proto/cortado.pb.h"

namespace cortado::dialect {

/// Whether many readers lack this layer of classic Caffe, and its composition is known. `x` has its bottoms' shapes.
bool is_rare(const caffe::LayerParameter& layer, const std::vector<Shape>& x, bool has_weights);

}  // namespace cortado::dialect
