#include "onnx/import/net_builder.h"

#include "core/error.h"
#include "graph/infer_layer.h"

namespace cortado::importing {

std::string NetBuilder::unused(std::set<std::string>& names, const std::string& base) {
  std::string name = base.empty() ? "unnamed" : base;
  for (int n = 2; !names.insert(name).second; ++n) name = base + "_" + std::to_string(n);
  return name;
}

std::vector<Blob> NetBuilder::add(caffe::LayerParameter layer, const std::vector<Blob>& bottoms,
                                  std::vector<BlobFile> weights) {
  std::vector<Shape> x;
  for (const Blob& bottom : bottoms) {
    layer.add_bottom(bottom.name);
    x.push_back(bottom.shape);
  }
  const LayerShapes shapes = graph::infer_layer(layer, x);
  if (weights.size() != shapes.w.size())
    throw FieldError("", layer.type() + " has " + std::to_string(shapes.w.size()) + " weights, not " +
                             std::to_string(weights.size()));
  for (size_t i = 0; i < weights.size(); ++i)
    if (weights[i].shape.count() != shapes.w[i].shape.count() ||
        weights[i].shape.count() != int64_t(weights[i].data.size()))
      throw FieldError("", "weight " + std::to_string(i) + " has shape " + weights[i].shape.str() + ", but " +
                               shapes.w[i].shape.str() + " is required");
    else
      weights[i].shape = shapes.w[i].shape;
  std::vector<Blob> tops;
  for (int i = 0; i < layer.top_size(); ++i) tops.push_back({layer.top(i), shapes.y.at(size_t(i))});
  for (const Blob& top : tops) {
    top.shape.count();  // throws if the number of elements overflows
    shapes_[top.name] = top.shape;
  }
  if (!weights.empty()) net.weights.push_back({layer.name(), layer.type(), std::move(weights)});
  *net.net.add_layer() = std::move(layer);
  return tops;
}

}  // namespace cortado::importing
