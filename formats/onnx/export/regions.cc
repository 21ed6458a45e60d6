// Layers of detectors: prior boxes and ROI pooling.
#include "onnx/export/table.h"

namespace cortado::exporting {

namespace {

/// The boxes depend on the fixed image size only, so the layer computes them and they become constants.
void write_prior_box(LayerWriter& layer) { layer.finish_constant(layer.read_top(0)); }

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

}  // namespace

void add_regions(Table& table) {
  table.insert({{"PriorBox", write_prior_box}, {"ROIPooling", write_roi_pooling}, {"ROIAlign", write_roi_align}});
}

}  // namespace cortado::exporting
