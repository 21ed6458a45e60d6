#include "onnx/export/suppression.h"

#include "onnx/export/operators.h"

namespace cortado::exporting {

namespace {

/// A tensor of the shape of `like`, filled with kDropped.
std::string all_dropped(LayerWriter& layer, const std::string& like) {
  return layer.add({"Expand", {layer.number(kDropped), unary(layer, "Shape", like)}});
}

/// Moves the second corner of boxes with a side below 0 to the first: ONNX exchanges such corners.
std::string ordered_corners(LayerWriter& layer, const std::string& boxes) {
  const std::vector<std::string> corners = split(layer, boxes, 2, 2);
  return concat(layer, {corners[0], binary(layer, "Max", corners[0], corners[1])}, 2);
}

/// The extent of axis 0, as a tensor of one integer.
std::string extent(LayerWriter& layer, const std::string& x) { return gather(layer, unary(layer, "Shape", x), {0}, 0); }

/// For each row of `like` its index and six values of -1.
std::string rows_without_detections(LayerWriter& layer, const std::string& images) {
  const std::string count = layer.add({"Squeeze", {images, layer.integers("axes", {0})}});
  const std::string index = layer.add({"Range", {layer.integer(0), count, layer.integer(1)}});
  const std::string column = reshape(layer, as_float(layer, index), {-1, 1});
  return layer.add({"Pad", {column, layer.integers("pads", {0, 0, 0, 6}), layer.number(-1)}});
}

}  // namespace

BestScores best_scores(LayerWriter& layer, const std::string& scores, int64_t axis, int64_t count) {
  const std::vector<std::string> best =
      layer.add({"TopK", {scores, layer.integers("k", {count})}, {{"axis", axis}}}, 2);
  return {best[0], best[1]};
}

std::string rows_at(LayerWriter& layer, const std::string& values, const std::string& places, int64_t count) {
  return layer.add({"GatherND", {values, reshape(layer, places, {-1, count, 1})}, {{"batch_dims", int64_t(1)}}});
}

std::string suppressed(LayerWriter& layer, const std::string& boxes, const std::string& scores,
                       const Suppression& rule) {
  const std::string classes = layer.add({"Unsqueeze", {scores, layer.integers("axes", {1})}});
  const std::string chosen =
      layer.add({"NonMaxSuppression",
                 {ordered_corners(layer, boxes), classes, layer.integers("most", {rule.most}),
                  layer.floats("threshold", {1}, {&rule.threshold, 1}), layer.floats("least", {1}, {&rule.least, 1})}});
  const std::string places = gather(layer, chosen, {0, 2}, 1);
  return layer.add({"ScatterND", {all_dropped(layer, scores), places, binary(layer, "GatherND", scores, places)}});
}

std::string only_best(LayerWriter& layer, const std::string& scores, int64_t count) {
  const BestScores best = best_scores(layer, scores, 1, count);
  return layer.add({"ScatterElements", {all_dropped(layer, scores), best.places, best.values}, {{"axis", int64_t(1)}}});
}

Found find_kept(LayerWriter& layer, const std::string& scores) {
  const std::string kept = binary(layer, "Greater", scores, layer.number(kDropped));
  const std::string places = transpose(layer, unary(layer, "NonZero", kept), {1, 0});
  return {range_of(layer, places, 1, 0, 1), places};
}

std::string found_values(LayerWriter& layer, const Found& found, const std::string& values) {
  return binary(layer, "GatherND", values, found.places);
}

void finish_detections(LayerWriter& layer, const DetectedBoxes& all) {
  const Found found = find_kept(layer, all.kept);
  const auto column = [&](const std::string& values) {
    return reshape(layer, found_values(layer, found, values), {-1, 1});
  };
  const std::string rows = concat(
      layer,
      {as_float(layer, found.rows), column(all.labels), column(all.scores), found_values(layer, found, all.boxes)}, 1);
  const std::string images = extent(layer, all.kept), count = extent(layer, rows);
  const std::string either = concat(layer, {rows, rows_without_detections(layer, images)}, 0);
  const std::string none = binary(layer, "Equal", count, layer.integers("zero", {0}));
  const std::string end = layer.add({"Where", {none, images, count}});
  const std::string first =
      layer.add({"Slice", {either, layer.integers("starts", {0}), end, layer.integers("axes", {0})}});
  layer.finish({"Reshape", {first, layer.integers("shape", {1, 1, -1, 7})}});
}

}  // namespace cortado::exporting
