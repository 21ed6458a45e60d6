// DetectionOutput: boxes from priors and offsets, suppressed class by class. Each class keeps its top_k best before the
// suppression, as in Caffe; ONNX's operator counts after it. With N images, C classes other than the background and K
// candidates per class:
//   scores N x C x K (TopK, best first) and their boxes N C x K x 4 -> NonMaxSuppression -> the keep_top_k best of
//   N x C K -> rows, in order of image, class and score
#include <algorithm>

#include "onnx/export/operators.h"
#include "onnx/export/suppression.h"
#include "onnx/export/table.h"

namespace cortado::exporting {

namespace {

/// The two corners of boxes.
struct Corners {
  std::string low, high;
};

struct Detector {
  LayerWriter& layer;
  const caffe::DetectionOutputParameter& param;
  int64_t priors, classes;
  std::vector<int64_t> labels = {};  ///< classes other than the background

  bool shared() const { return param.share_location(); }
  int64_t count() const { return int64_t(labels.size()); }
  /// Candidates per class.
  int64_t candidates() const {
    const auto& nms = param.nms_param();
    return nms.has_top_k() && nms.top_k() >= 0 ? std::min<int64_t>(nms.top_k(), priors) : priors;
  }
};

/// Applies offsets to boxes, as layers/common/detection/box_coding.h.
std::string decode_boxes(const Detector& at, const Corners& prior, const std::string& variances,
                         const std::string& code, int64_t axis) {
  LayerWriter& layer = at.layer;
  const bool scaled = !at.param.variance_encoded_in_target();
  const std::string moves = scaled ? binary(layer, "Mul", code, variances) : code;
  const std::vector<std::string> move = split(layer, moves, axis, 2);
  if (at.param.code_type() == caffe::PriorBoxParameter::CENTER_SIZE) {
    const std::string size = binary(layer, "Sub", prior.high, prior.low), half = layer.number(0.5f);
    const std::string middle = binary(layer, "Mul", binary(layer, "Add", prior.low, prior.high), half);
    const std::string center = binary(layer, "Add", middle, binary(layer, "Mul", move[0], size));
    const std::string side = binary(layer, "Mul", binary(layer, "Mul", unary(layer, "Exp", move[1]), size), half);
    return concat(layer, {binary(layer, "Sub", center, side), binary(layer, "Add", center, side)}, axis);
  }
  Corners by = {move[0], move[1]};
  if (at.param.code_type() == caffe::PriorBoxParameter::CORNER_SIZE) {
    const std::string size = binary(layer, "Sub", prior.high, prior.low);
    by = {binary(layer, "Mul", move[0], size), binary(layer, "Mul", move[1], size)};
  }
  return concat(layer, {binary(layer, "Add", prior.low, by.low), binary(layer, "Add", prior.high, by.high)}, axis);
}

/// All boxes: N x P x 4, or N C x P x 4 if each class has its own.
std::string all_boxes(const Detector& at) {
  LayerWriter& layer = at.layer;
  const int64_t axis = at.shared() ? 2 : 3;
  const auto of_priors = [&](int64_t first) {
    return at.shared() ? std::vector<int64_t>{first, at.priors, 4} : std::vector<int64_t>{first, at.priors, 1, 4};
  };
  const std::vector<std::string> prior = split(layer, reshape(layer, layer.x[2].name, of_priors(2)), 0, 2);
  std::vector<std::string> corners = split(layer, prior[0], axis, 2);
  if (layer.x.size() == 5) {
    const std::string moves = reshape(layer, layer.x[4].name, of_priors(-1));
    corners = split(layer, decode_boxes(at, {corners[0], corners[1]}, prior[1], moves, axis), axis, 2);
  }
  std::vector<int64_t> dims = of_priors(-1);
  if (!at.shared()) dims[2] = at.classes;
  const std::string code = reshape(layer, layer.x[0].name, dims);
  std::string boxes = decode_boxes(at, {corners[0], corners[1]}, prior[1], code, axis);
  if (at.param.clip()) boxes = limited(layer, boxes, layer.number(1));
  if (at.shared()) return boxes;
  if (at.count() < at.classes) boxes = gather(layer, boxes, at.labels, 2);
  return reshape(layer, transpose(layer, boxes, {0, 2, 1, 3}), {-1, at.priors, 4});
}

/// N x C x P. RefineDet's priors without an object have no score.
std::string all_scores(const Detector& at) {
  LayerWriter& layer = at.layer;
  const std::string by_prior = reshape(layer, layer.x[1].name, {-1, at.priors, at.classes});
  std::string scores = transpose(layer, by_prior, {0, 2, 1});
  if (at.count() < at.classes) scores = gather(layer, scores, at.labels, 1);
  if (layer.x.size() < 5) return scores;
  const std::string objects = reshape(layer, layer.x[3].name, {-1, at.priors, 2});
  const std::string sure = transpose(layer, range_of(layer, objects, 2, 1, 2), {0, 2, 1});
  const std::string is_object = binary(layer, "GreaterOrEqual", sure, layer.number(at.param.objectness_score()));
  return layer.add({"Where", {is_object, scores, layer.number(kDropped)}});
}

void require_exportable(const LayerWriter& layer, const caffe::DetectionOutputParameter& param) {
  const auto& nms = param.nms_param();
  if (nms.eta() < 1 && nms.nms_threshold() > 0.5f)
    layer.refuse("ONNX's NonMaxSuppression has a constant threshold, but eta changes it", "remove eta",
                 "detection_output_param.nms_param.eta");
  if (param.keep_top_k() == 0 || (nms.has_top_k() && nms.top_k() == 0))
    layer.refuse("keep_top_k or top_k is 0, so that nothing can be detected", "set -1 to keep all",
                 "detection_output_param");
}

void write_detection_output(LayerWriter& layer) {
  const auto& param = layer.config.detection_output_param();
  require_exportable(layer, param);
  Detector at{layer, param, layer.x[2].shape.count(2) / 4, int64_t(param.num_classes())};
  for (int64_t c = 0; c < at.classes; ++c)
    if (c != param.background_label_id()) at.labels.push_back(c);
  if (at.labels.empty()) layer.refuse("it has no class except the background", {}, "detection_output_param");
  const int64_t count = at.candidates(), of_an_image = at.count() * count;
  const BestScores best = best_scores(layer, all_scores(at), 2, count);
  const std::string boxes = rows_at(layer, all_boxes(at), best.places, at.shared() ? of_an_image : count);
  const float least = param.has_confidence_threshold() ? param.confidence_threshold() : kDropped;
  const Suppression rule{std::min(param.nms_param().nms_threshold(), 1.0f), std::max(least, kDropped), count, count};
  const std::string stay =
      suppressed(layer, reshape(layer, boxes, {-1, count, 4}), reshape(layer, best.values, {-1, count}), rule);
  std::string kept = reshape(layer, stay, {-1, of_an_image});
  if (param.keep_top_k() > 0 && param.keep_top_k() < of_an_image) kept = only_best(layer, kept, param.keep_top_k());
  std::vector<float> labels;
  for (const int64_t label : at.labels) labels.insert(labels.end(), size_t(count), float(label));
  const std::string label = layer.floats("labels", {1, of_an_image}, labels);
  finish_detections(layer, {kept, layer.add({"Expand", {label, unary(layer, "Shape", kept)}}),
                            reshape(layer, best.values, {-1, of_an_image}), reshape(layer, boxes, {-1, of_an_image, 4}),
                            of_an_image});
}

}  // namespace

void add_detections(Table& table) { table.insert({{"DetectionOutput", write_detection_output}}); }

}  // namespace cortado::exporting
