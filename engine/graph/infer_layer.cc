#include "graph/infer_layer.h"

#include <string>

#include "core/error.h"
#include "layers/registry.h"

namespace cortado::graph {

namespace {

void check_operands(int count, int least, int most, const std::string& what) {
  if (count < least || (most >= 0 && count > most))
    throw FieldError("", "it has a wrong number of " + what + ", " + std::to_string(count));
}

}  // namespace

LayerShapes infer_layer(const caffe::LayerParameter& layer, const std::vector<Shape>& x) {
  const LayerType* type = find_layer_type(layer.type());
  if (!type) throw FieldError("type", "layer type '" + layer.type() + "' is unknown");
  check_operands(int(x.size()), type->min_bottoms, type->max_bottoms, "bottoms");
  check_operands(layer.top_size(), type->min_tops, type->max_tops, "tops");
  return type->make({.config = layer, .phase = caffe::TEST, .open_data = false})->infer(x);
}

}  // namespace cortado::graph
