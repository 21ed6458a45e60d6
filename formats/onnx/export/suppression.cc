#include "onnx/export/suppression.h"

#include "onnx/export/operators.h"

namespace cortado::exporting {

namespace {

/// A tensor of the shape of `like`, filled with kDropped.
std::string all_dropped(LayerWriter& layer, const std::string& like) {
  return layer.add({"Expand", {layer.number(kDropped), unary(layer, "Shape", like)}});
}

/// Whether boxes have an area, B x K. Others overlap nothing; ONNX exchanges their corners if a side is below 0, and
/// OpenCV 5 takes two without an area for the same.
std::string have_area(LayerWriter& layer, const std::string& boxes) {
  const std::vector<std::string> corners = split(layer, boxes, 2, 2);
  const std::string side = layer.add({"ReduceMin",
                                      {binary(layer, "Sub", corners[1], corners[0])},
                                      {{"axes", std::vector<int64_t>{2}}, {"keepdims", int64_t(0)}}});
  return binary(layer, "Greater", side, layer.number(0));
}

/// The extent of axis 0, as a tensor of one integer.
std::string extent(LayerWriter& layer, const std::string& x) { return gather(layer, unary(layer, "Shape", x), {0}, 0); }

/// The index of each row of `like`, as N x 1 floats.
std::string image_indices(LayerWriter& layer, const std::string& like) {
  const std::string count = layer.add({"Squeeze", {extent(layer, like), layer.integers("axes", {0})}});
  const std::string index = layer.add({"Range", {layer.integer(0), count, layer.integer(1)}});
  return reshape(layer, as_float(layer, index), {-1, 1});
}

/// For each image its index and six values of -1.
std::string rows_without_detections(LayerWriter& layer, const std::string& images) {
  return layer.add({"Pad", {images, layer.integers("pads", {0, 0, 0, 6}), layer.number(-1)}});
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
  std::vector<float> ranks;
  for (int64_t k = rule.count; k > 0; --k) ranks.push_back(float(k));
  const std::string alive = binary(layer, "Greater", scores, layer.number(rule.least));
  const std::string solid = have_area(layer, boxes);
  const std::string rank = layer.add(
      {"Where", {binary(layer, "And", alive, solid), layer.floats("ranks", {1, rule.count}, ranks), layer.number(0)}});
  const float none = 0;
  const std::string chosen = layer.add(
      {"NonMaxSuppression",
       {boxes, layer.add({"Unsqueeze", {rank, layer.integers("axes", {1})}}), layer.integers("most", {rule.most}),
        layer.floats("threshold", {1}, {&rule.threshold, 1}), layer.floats("least", {1}, {&none, 1})}});
  // The first box of the first row stays if it is alive, so that adding it changes nothing.
  const std::string first = reshape(layer, layer.integers("first", {0, 0, 0}), {1, 3});
  const std::string places = gather(layer, concat(layer, {chosen, first}, 0), {0, 2}, 1);
  const std::string seen = layer.add({"Where", {alive, scores, layer.number(kDropped)}});
  const std::string stay =
      layer.add({"ScatterND", {all_dropped(layer, scores), places, binary(layer, "GatherND", seen, places)}});
  return layer.add({"Where", {solid, stay, seen}});
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
  const int64_t count = all.count;
  const std::string kept = as_float(layer, binary(layer, "Greater", all.kept, layer.number(kDropped)));
  const std::string images = image_indices(layer, all.kept);
  const auto column = [&](const std::string& values) { return reshape(layer, values, {-1, count, 1}); };
  const std::string image = binary(layer, "Expand", images, unary(layer, "Shape", all.kept));
  const std::string rows =
      reshape(layer, concat(layer, {column(image), column(all.labels), column(all.scores), all.boxes}, 2), {-1, 7});
  const std::string either = concat(layer, {rows, rows_without_detections(layer, images)}, 0);
  const std::string any = layer.add({"ReduceMax", {kept}, {{"axes", std::vector<int64_t>{0, 1}}}});
  const std::string none = binary(layer, "Sub", layer.number(1), any);
  const std::string alone = binary(layer, "Expand", reshape(layer, none, {1}), extent(layer, images));
  const std::string listed = concat(layer, {reshape(layer, kept, {-1}), alone}, 0);
  const std::string which = reshape(layer, unary(layer, "NonZero", listed), {-1});
  const std::string found = layer.add({"Gather", {either, which}, {{"axis", int64_t(0)}}});
  layer.finish({"Reshape", {found, layer.integers("shape", {1, 1, -1, 7})}});
}

}  // namespace cortado::exporting
