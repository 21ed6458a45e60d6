// Layers of R-CNN that make regions: Proposal and DecodeBBox. Sides include the last pixel, so NonMaxSuppression, whose
// sides are differences of corners, gets boxes that are longer by one.
#include <algorithm>

#include "layers/common/detection/box_offsets.h"
#include "layers/common/detection/proposal_anchors.h"
#include "onnx/export/operators.h"
#include "onnx/export/suppression.h"
#include "onnx/export/table.h"

namespace cortado::exporting {

namespace {

/// Boxes with their centres; the last axis has x and y.
struct CenteredBoxes {
  std::string center, size, half;
};

/// Applies offsets (the last axis, `axis`, has x, y, w, h) as layers/common/detection/box_offsets.h: the corners.
std::vector<std::string> moved_boxes(LayerWriter& layer, const CenteredBoxes& from, const std::string& offsets,
                                     int64_t axis) {
  const std::vector<std::string> by = split(layer, offsets, axis, 2);
  const std::string center = binary(layer, "Add", from.center, binary(layer, "Mul", by[0], from.size));
  const std::string half = binary(layer, "Mul", from.half, unary(layer, "Exp", by[1]));
  return {binary(layer, "Sub", center, half), binary(layer, "Add", center, half)};
}

/// The anchors of all positions, as constants of 1 x (positions, then anchors) x 2.
CenteredBoxes all_anchors(LayerWriter& layer, int64_t height, int64_t width) {
  const auto& param = layer.config.proposal_param();
  const std::vector<Box> anchors = proposal_anchors(param);
  std::vector<float> center, size, half;
  for (int64_t place = 0; place < height * width; ++place)
    for (const Box& anchor : anchors) {
      const float dx = float(place % width * param.feat_stride()), dy = float(place / width * param.feat_stride());
      const Box box{anchor.x0 + dx, anchor.y0 + dy, anchor.x1 + dx, anchor.y1 + dy};
      const float w = box_width(box, 1), h = box_height(box, 1);
      center.insert(center.end(), {box.x0 + 0.5f * w, box.y0 + 0.5f * h});
      size.insert(size.end(), {w, h});
      half.insert(half.end(), {0.5f * w, 0.5f * h});
    }
  const Shape shape{1, int64_t(size.size() / 2), 2};
  return {layer.floats("centers", shape, center), layer.floats("sizes", shape, size),
          layer.floats("half", shape, half)};
}

/// Whether the image has a size and the sides of a box are long enough: N x boxes.
std::string long_enough(LayerWriter& layer, const std::string& boxes, const std::string& info, int64_t columns,
                        int64_t count) {
  const std::vector<std::string> corners = split(layer, boxes, 2, 2);
  const std::string sides = binary(layer, "Add", binary(layer, "Sub", corners[1], corners[0]), layer.number(1));
  const std::string scales = reshape(layer, gather(layer, info, {columns > 3 ? 3 : 2, 2}, 1), {-1, 1, 2});
  const std::string least = binary(layer, "Mul", scales, layer.number(float(layer.config.proposal_param().min_size())));
  const std::vector<std::string> each = split(layer, binary(layer, "GreaterOrEqual", sides, least), 2, 2);
  const std::string both = reshape(layer, binary(layer, "And", each[0], each[1]), {-1, count});
  const std::string extent =
      layer.add({"ReduceMin", {gather(layer, info, {0, 1}, 1)}, {{"axes", std::vector<int64_t>{1}}}});
  return binary(layer, "And", both, binary(layer, "Greater", extent, layer.number(0)));
}

/// The scores of objects, N x boxes: positions, then anchors.
std::string anchor_scores(LayerWriter& layer, int64_t anchors, int64_t places) {
  const std::string objects = range_of(layer, layer.x[0].name, 1, anchors, 2 * anchors);
  return reshape(layer, transpose(layer, reshape(layer, objects, {-1, anchors, places}), {0, 2, 1}),
                 {-1, places * anchors});
}

/// The regions of all anchors within their images, N x boxes x 4.
std::string anchor_regions(LayerWriter& layer, int64_t anchors, const std::string& info) {
  const int64_t height = layer.x[0].shape[2], width = layer.x[0].shape[3], places = height * width;
  const std::string by_anchor = reshape(layer, layer.x[1].name, {-1, anchors, 4, places});
  const std::string offsets = reshape(layer, transpose(layer, by_anchor, {0, 3, 1, 2}), {-1, places * anchors, 4});
  const std::string boxes = concat(layer, moved_boxes(layer, all_anchors(layer, height, width), offsets, 2), 2);
  const std::string last = binary(layer, "Sub", gather(layer, info, {1, 0, 1, 0}, 1), layer.number(1));
  return limited(layer, boxes, reshape(layer, last, {-1, 1, 4}));
}

void write_proposal(LayerWriter& layer) {
  const auto& param = layer.config.proposal_param();
  const Shape& x = layer.x[0].shape;
  const int64_t anchors = x[1] / 2, places = x[2] * x[3], all = places * anchors;
  const int64_t columns = layer.x[2].shape.count() / x[0];
  const std::string info = reshape(layer, layer.x[2].name, {-1, columns});
  const std::string regions = anchor_regions(layer, anchors, info);
  const std::string scores = layer.add({"Where",
                                        {long_enough(layer, regions, info, columns, all),
                                         anchor_scores(layer, anchors, places), layer.number(kDropped)}});
  const int64_t before = param.pre_nms_topn() > 0 ? std::min<int64_t>(param.pre_nms_topn(), all) : all;
  const int64_t after = param.post_nms_topn() > 0 ? std::min<int64_t>(param.post_nms_topn(), before) : before;
  const BestScores best = best_scores(layer, scores, 1, before);
  const std::string boxes = rows_at(layer, regions, best.places, before);
  const float border[] = {0, 0, 1, 1};
  const std::string longer = binary(layer, "Add", boxes, layer.floats("border", {1, 1, 4}, border));
  const std::string kept =
      suppressed(layer, longer, best.values, {std::min(param.nms_thresh(), 1.0f), kDropped, before, after});
  const Found found = find_kept(layer, kept);
  layer.finish({"Concat", {as_float(layer, found.rows), found_values(layer, found, boxes)}, {{"axis", int64_t(1)}}});
  if (layer.y.size() > 1) layer.finish({"GatherND", {best.values, found.places}}, 1);
}

void write_decode_bbox(LayerWriter& layer) {
  const auto& own = layer.config.decode_bbox_param();
  const auto& shared = layer.config.bbox_reg_param();
  const bool uses_own = own.bbox_mean_size() > 0;
  const OffsetScale scale = uses_own ? offset_scale(own.bbox_mean(), own.bbox_std(), "decode_bbox_param")
                                     : offset_scale(shared.bbox_mean(), shared.bbox_std(), "bbox_reg_param");
  const std::string regions = reshape(layer, layer.x[1].name, {-1, 5});
  const std::string raw = range_of(layer, reshape(layer, layer.x[0].name, {-1, 8}), 1, 4, 8);
  const std::string scaled = binary(layer, "Mul", raw, layer.floats("deviations", {1, 4}, scale.deviation));
  const std::string offsets = binary(layer, "Add", scaled, layer.floats("means", {1, 4}, scale.mean));
  const std::vector<std::string> corners = split(layer, range_of(layer, regions, 1, 1, 5), 1, 2);
  const std::string one = layer.number(1);
  const std::string size = binary(layer, "Add", binary(layer, "Sub", corners[1], corners[0]), one);
  const std::string half = binary(layer, "Mul", size, layer.number(0.5f));
  const std::vector<std::string> box =
      moved_boxes(layer, {binary(layer, "Add", corners[0], half), size, half}, offsets, 1);
  layer.finish({"Concat",
                {range_of(layer, regions, 1, 0, 1), box[0], binary(layer, "Sub", box[1], one)},
                {{"axis", int64_t(1)}}});
}

}  // namespace

void add_proposals(Table& table) { table.insert({{"Proposal", write_proposal}, {"DecodeBBox", write_decode_bbox}}); }

}  // namespace cortado::exporting
