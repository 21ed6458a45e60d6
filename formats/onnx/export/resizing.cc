// Layers that resize images.
#include "onnx/export/operators.h"
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

/// SegNet's: zeros, except at the places in the planes of y that the mask, the second bottom, holds.
void write_unpooling(LayerWriter& layer) {
  const Shape &x = layer.x[0].shape, &y = layer.y[0].shape;
  const auto planes = [&](const std::string& name) { return reshape(layer, name, {-1, x[1], x.count(2)}); };
  const std::string places = planes(as_integer(layer, layer.x[1].name)), values = planes(layer.x[0].name);
  const std::string batch = gather(layer, unary(layer, "Shape", values), {0}, 0);
  const std::string extents = concat(layer, {batch, layer.integers("plane", {x[1], y.count(2)})}, 0);
  const std::string zeros = binary(layer, "Expand", layer.number(0), extents);
  const std::string put = layer.add({"ScatterElements", {zeros, places, values}, {{"axis", int64_t(2)}}});
  layer.finish({"Reshape", {put, layer.integers("shape", {-1, y[1], y[2], y[3]})}});
}

void write_upsample(LayerWriter& layer) {
  if (layer.x.size() > 1) return write_unpooling(layer);
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

/// The numbers of the maps, N x 6: those of st_param, and the bottom's in the places between them.
std::string map_numbers(LayerWriter& layer) {
  const auto& param = layer.config.st_param();
  const std::pair<bool, double> given[] = {
      {param.has_theta_1_1(), param.theta_1_1()}, {param.has_theta_1_2(), param.theta_1_2()},
      {param.has_theta_1_3(), param.theta_1_3()}, {param.has_theta_2_1(), param.theta_2_1()},
      {param.has_theta_2_2(), param.theta_2_2()}, {param.has_theta_2_3(), param.theta_2_3()}};
  const int64_t count = layer.x[1].shape.count(1);
  std::vector<float> fixed(6, 0), places(size_t(6 * count), 0);
  for (size_t k = 0, next = 0; k < 6; ++k)
    if (given[k].first)
      fixed[k] = float(given[k].second);
    else
      places[6 * next++ + k] = 1;
  const std::string moved =
      binary(layer, "MatMul", reshape(layer, layer.x[1].name, {-1, count}), layer.floats("places", {count, 6}, places));
  return binary(layer, "Add", moved, layer.floats("fixed", {1, 6}, fixed));
}

/// GridSample with align_corners 0 samples pixel ((g + 1) size - 1) / 2; the layer (a + 1) size / 2. So g = a + 1 /
/// size. The layer's maps have the row first, GridSample's grid the column.
void write_spatial_transformer(LayerWriter& layer) {
  const Shape &x = layer.x[0].shape, &y = layer.y[0].shape;
  std::vector<float> positions(size_t(3 * y.count(2)), 1);
  for (int64_t place = 0; place < y.count(2); ++place) {
    positions[size_t(place)] = 2 * float(place / y[3]) / float(y[2]) - 1;
    positions[size_t(y.count(2) + place)] = 2 * float(place % y[3]) / float(y[3]) - 1;
  }
  const float half_pixels[] = {1 / float(x[2]), 1 / float(x[3])};
  const std::string mapped = binary(layer, "MatMul", reshape(layer, map_numbers(layer), {-1, 2, 3}),
                                    layer.floats("positions", {3, y.count(2)}, positions));
  const std::string places = binary(layer, "Add", mapped, layer.floats("half", {1, 2, 1}, half_pixels));
  const std::string columns_first = transpose(layer, gather(layer, places, {1, 0}, 1), {0, 2, 1});
  layer.finish(
      {"GridSample",
       {layer.x[0].name, reshape(layer, columns_first, {-1, y[2], y[3], 2})},
       {{"mode", std::string("bilinear")}, {"padding_mode", std::string("zeros")}, {"align_corners", int64_t(0)}}});
}

}  // namespace

void add_resizing(Table& table) {
  table.insert(
      {{"Upsample", write_upsample}, {"Interp", write_interp}, {"SpatialTransformer", write_spatial_transformer}});
}

}  // namespace cortado::exporting
