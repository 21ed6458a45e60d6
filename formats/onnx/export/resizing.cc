// Layers that resize images.
#include "onnx/export/table.h"

namespace cortado::exporting {

namespace {

/// Scale factors that yield y's size however a runtime rounds size x factor; the batch is unchanged.
std::string factors(LayerWriter& layer, const Shape& x, const Shape& y) {
  std::vector<float> values = {1, 1};
  for (const int axis : {2, 3})
    values.push_back(y[axis] % x[axis] == 0 ? float(y[axis] / x[axis])
                                            : float((double(y[axis]) + 0.25) / double(x[axis])));
  return layer.floats("scales", {4}, values);
}

void write_upsample(LayerWriter& layer) {
  if (layer.x.size() > 1) layer.refuse("unpooling has no ONNX operator", {}, "bottom[1]");
  layer.finish({"Resize",
                {layer.x[0].name, "", factors(layer, layer.x[0].shape, layer.y[0].shape)},
                {{"mode", std::string("nearest")},
                 {"coordinate_transformation_mode", std::string("asymmetric")},
                 {"nearest_mode", std::string("floor")}}});
}

/// With aligned corners; pad_beg and pad_end crop x first.
void write_interp(LayerWriter& layer) {
  const auto& param = layer.config.interp_param();
  Shape seen = layer.x[0].shape;
  if (seen.axes() != 4) layer.refuse("only images, N x C x H x W, can be exported");
  std::string x = layer.x[0].name;
  if (param.pad_beg() != 0 || param.pad_end() != 0) {
    const int64_t begin = -param.pad_beg(), end = -param.pad_end();
    const std::vector<int64_t> ends = {seen[2] - end, seen[3] - end};
    x = layer.add(
        {"Slice",
         {x, layer.integers("starts", {begin, begin}), layer.integers("ends", ends), layer.integers("axes", {2, 3})}});
    seen = {seen[0], seen[1], seen[2] - begin - end, seen[3] - begin - end};
  }
  layer.finish({"Resize",
                {x, "", factors(layer, seen, layer.y[0].shape)},
                {{"mode", std::string("linear")}, {"coordinate_transformation_mode", std::string("align_corners")}}});
}

}  // namespace

void add_resizing(Table& table) { table.insert({{"Upsample", write_upsample}, {"Interp", write_interp}}); }

}  // namespace cortado::exporting
