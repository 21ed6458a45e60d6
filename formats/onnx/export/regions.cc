// Layers of detectors: prior boxes and ROI pooling.
#include "onnx/export/operators.h"
#include "onnx/export/table.h"

namespace cortado::exporting {

namespace {

/// The boxes depend on the fixed image size only, so the layer computes them and they become constants.
void write_prior_box(LayerWriter& layer) { layer.finish_constant(layer.constants.top(0)); }

void write_roi_pooling(LayerWriter& layer) {
  const auto& param = layer.config.roi_pooling_param();
  if (param.pad_ratio() != 0) layer.refuse("pad_ratio cannot be exported", {}, "roi_pooling_param.pad_ratio");
  const Shape& y = layer.y[0].shape;
  layer.finish({"MaxRoiPool",
                {layer.x[0].name, layer.x[1].name},
                {{"pooled_shape", std::vector<int64_t>{y[2], y[3]}}, {"spatial_scale", param.spatial_scale()}}});
}

/// A region has an image index and four coordinates, which ONNX takes as separate inputs.
void write_roi_align(LayerWriter& layer) {
  if (!layer.config.has_roi_align_param())
    layer.refuse("only Mask R-CNN's form can be exported", {}, "roi_pooling_param");
  const auto& param = layer.config.roi_align_param();
  const std::string& regions = layer.x[1].name;
  const std::string parts = layer.integers("axes", {1});
  const auto columns = [&](int64_t from, int64_t to) {
    return layer.add({"Slice", {regions, layer.integers("starts", {from}), layer.integers("ends", {to}), parts}});
  };
  const std::string number = layer.add({"Squeeze", {columns(0, 1), parts}});
  const std::string image = layer.add({"Cast", {number}, {{"to", int64_t(onnx::TensorProto::INT64)}}});
  layer.finish({"RoiAlign",
                {layer.x[0].name, columns(1, 5), image},
                {{"coordinate_transformation_mode", std::string("output_half_pixel")},
                 {"output_height", int64_t(param.pooled_h())},
                 {"output_width", int64_t(param.pooled_w())},
                 {"sampling_ratio", int64_t(param.sampling_ratio())},
                 {"spatial_scale", param.spatial_scale()}}});
}

/// The first and the last position (exclusive) of each part of a region along both axes: R x 2 x parts, x before y.
struct PartRanges {
  std::string begin, end;
};

/// Rounds half away from 0; ONNX's Round does so to even.
std::string rounded(LayerWriter& layer, const std::string& x) {
  const std::string size = unary(layer, "Abs", x), floor = unary(layer, "Floor", size);
  const std::string rest = binary(layer, "Sub", size, floor);
  const std::string up = as_float(layer, binary(layer, "GreaterOrEqual", rest, layer.number(0.5f)));
  return binary(layer, "Mul", binary(layer, "Add", floor, up), unary(layer, "Sign", x));
}

PartRanges part_ranges(LayerWriter& layer, const std::string& regions, int64_t parts) {
  const Shape& x = layer.x[0].shape;
  const std::string scale = layer.number(layer.config.psroi_pooling_param().spatial_scale());
  const std::vector<std::string> corners = split(layer, rounded(layer, range_of(layer, regions, 1, 1, 5)), 1, 2);
  const std::string begin = binary(layer, "Mul", corners[0], scale);
  const std::string end = binary(layer, "Mul", binary(layer, "Add", corners[1], layer.number(1)), scale);
  const std::string size = binary(layer, "Max", binary(layer, "Sub", end, begin), layer.number(0.1f));
  const std::string step = reshape(layer, binary(layer, "Div", size, layer.number(float(parts))), {-1, 2, 1});
  const std::string first = reshape(layer, begin, {-1, 2, 1});
  const float extents[] = {float(x[3]), float(x[2])};
  const std::string limit = layer.floats("limit", {1, 2, 1}, extents);
  const auto edges = [&](int from, const std::string& op) {
    std::vector<float> numbers;
    for (int64_t k = 0; k < parts; ++k) numbers.push_back(float(k + from));
    const std::string shift = binary(layer, "Mul", layer.floats("parts", {1, 1, parts}, numbers), step);
    const std::string at = unary(layer, op, binary(layer, "Add", shift, first));
    return as_integer(layer, limited(layer, at, limit));
  };
  return {edges(0, "Floor"), edges(1, "Ceil")};
}

/// Sums of x over all positions above and to the left, as one axis of doubles.
std::string summed_area(LayerWriter& layer) {
  std::string sum = cast(layer, layer.x[0].name, onnx::TensorProto::DOUBLE);
  for (const int64_t axis : {2, 3}) sum = binary(layer, "CumSum", sum, layer.integer(axis));
  const std::string padded = binary(layer, "Pad", sum, layer.integers("pads", {0, 0, 1, 1, 0, 0, 0, 0}));
  return reshape(layer, padded, {-1});
}

/// R-FCN: averages over the parts of regions, as differences of sums over the whole image.
void write_psroi_pooling(LayerWriter& layer) {
  const auto& param = layer.config.psroi_pooling_param();
  const Shape& x = layer.x[0].shape;
  const int64_t parts = param.group_size(), row = x[3] + 1, area = (x[2] + 1) * row;
  const std::string regions = reshape(layer, layer.x[1].name, {-1, 5});
  const PartRanges ranges = part_ranges(layer, regions, parts);
  const std::vector<std::string> begin = split(layer, ranges.begin, 1, 2), end = split(layer, ranges.end, 1, 2);
  std::vector<int64_t> channels;
  for (int64_t c = 0; c < x[1]; ++c) channels.push_back(c * area);
  const std::string image = as_integer(layer, reshape(layer, range_of(layer, regions, 1, 0, 1), {-1, 1, 1, 1}));
  const std::string plane =
      binary(layer, "Add", binary(layer, "Mul", image, layer.integer(x[1] * area)),
             reshape(layer, layer.integers("channels", channels), {1, int64_t(param.output_dim()), parts, parts}));
  const auto down = [&](const std::string& edge) {
    return binary(layer, "Mul", reshape(layer, edge, {-1, 1, parts, 1}), layer.integer(row));
  };
  const auto across = [&](const std::string& edge) { return reshape(layer, edge, {-1, 1, 1, parts}); };
  const std::string sums = summed_area(layer), top = binary(layer, "Add", plane, down(begin[1])),
                    bottom = binary(layer, "Add", plane, down(end[1])), left = across(begin[0]), right = across(end[0]);
  const auto strip = [&](const std::string& column) {
    return binary(layer, "Sub", binary(layer, "Gather", sums, binary(layer, "Add", bottom, column)),
                  binary(layer, "Gather", sums, binary(layer, "Add", top, column)));
  };
  const std::string sum = cast(layer, binary(layer, "Sub", strip(right), strip(left)), onnx::TensorProto::FLOAT);
  const std::string high = reshape(layer, binary(layer, "Sub", end[1], begin[1]), {-1, 1, parts, 1});
  const std::string count = binary(layer, "Mul", high, binary(layer, "Sub", right, left));
  layer.finish({"Div", {sum, as_float(layer, binary(layer, "Max", count, layer.integer(1)))}});
}

}  // namespace

void add_regions(Table& table) {
  table.insert({{"PriorBox", write_prior_box},
                {"ROIPooling", write_roi_pooling},
                {"ROIAlign", write_roi_align},
                {"PSROIPooling", write_psroi_pooling}});
}

}  // namespace cortado::exporting
