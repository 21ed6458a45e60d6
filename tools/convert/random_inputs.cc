#include "tools/convert/random_inputs.h"

#include <algorithm>

#include "layers/registry.h"

namespace cortado::tools {

namespace {

/// A layer that reads the blob, and the index of the blob among its bottoms; null if there is none.
std::pair<const caffe::LayerParameter*, int> reader_of(const NetFile& file, const std::string& blob) {
  for (const caffe::LayerParameter& layer : file.net.layer())
    for (int i = 0; i < layer.bottom_size(); ++i)
      if (layer.bottom(i) == blob) return {&layer, i};
  return {nullptr, 0};
}

/// Rows of sample, left, top, right, bottom: each with corners in this order, within a few hundred pixels.
void fill_regions(Array& array, RandomStream& rng) {
  for (size_t i = 0; i + 5 <= array.values.size(); i += 5) {
    const auto pixel = [&] { return 200 * rng.uniform(); };
    const float x = pixel(), y = pixel();
    const float row[] = {0, x, y, x + pixel(), y + pixel()};
    std::copy_n(row, 5, array.values.begin() + int64_t(i));
  }
}

}  // namespace

Array random_array(const NetFile& file, const std::string& blob, const Shape& shape, RandomStream& rng) {
  Array array{shape, std::vector<float>(size_t(shape.count()))};
  const auto [layer, bottom] = reader_of(file, blob);
  const std::string type = layer ? layer->type() : "";
  const auto reads = [&](const char* options) { return reads_options(type, options); };
  if (bottom == 1 && (reads("roi_pooling_param") || reads("roi_align_param") || reads("psroi_pooling_param"))) {
    fill_regions(array, rng);
  } else if (reads("embed_param")) {
    for (float& value : array.values) value = float(rng.below(std::max(1u, layer->embed_param().input_dim())));
  } else {
    for (float& value : array.values) value = float(rng.normal());
  }
  return array;
}

}  // namespace cortado::tools
