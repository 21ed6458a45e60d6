#include "layers/common/detection/grid_detections.h"

#include <algorithm>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/detection/suppression.h"

namespace cortado {

GridDetections::GridDetections(const Rule& rule, std::vector<float> anchors)
    : rule_(rule), anchors_(std::move(anchors)) {
  if (std::isnan(rule_.least_score)) throw FieldError(rule_.options + ".confidence_threshold", "it is NaN");
  if (!(rule_.nms_threshold >= 0))
    throw FieldError(rule_.options + ".nms_threshold", "it is " + to_text(rule_.nms_threshold),
                     "set a value from 0 to 1; with 1 all boxes stay");
}

LayerShapes GridDetections::settle(const std::vector<Shape>& x, const std::vector<Grid>& bottoms, int64_t classes) {
  if (classes == 0) throw FieldError(rule_.options + ".num_classes", "it is 0, but must be 1 or more");
  bottoms_ = bottoms;
  grids_.clear();
  int64_t slots = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    grids_.push_back(grid_of(x[i], int64_t(i), int64_t(bottoms[i].chosen.size()), classes));
    if (grids_[i].images != grids_[0].images)
      throw FieldError(
          entry("bottom", int64_t(i)),
          "its shape is " + x[i].str() + ", but bottom[0] has " + count_of(grids_[0].images, "image", "images"),
          "all bottoms must be predictions for the same images");
    slots += grids_[i].slots();
  }
  if (slots > INT32_MAX)
    throw FieldError("bottom[0]", "it has " + std::to_string(slots) + " boxes per image", "use a smaller grid");
  images_ = grids_[0].images;
  most_ = rows_ = std::max(images_, checked_mul(images_, slots));
  boxes_.resize(size_t(slots));
  scores_.resize(size_t(slots));
  labels_.resize(size_t(slots));
  return {.y = {{1, 1, most_, kDetectionWidth}}, .w = {}};
}

LayerNeeds GridDetections::prepare(const PrepareRequest&, Context&) { return {}; }

void GridDetections::forward(Context& context, const Operands& io) {
  std::vector<HostView> views;
  for (const Tensor& x : io.x) views.emplace_back(context, x.f32(), x.count());
  found_.begin(context, io.y[0].f32(), most_);
  for (int64_t image = 0; image < images_; ++image) {
    boxes_.clear();
    scores_.clear();
    labels_.clear();
    for (size_t i = 0; i < views.size(); ++i) find(views[i].data(), i, image);
    add_rows(image);
  }
  rows_ = found_.finish(context, images_);
}

GridDetections::Detection GridDetections::best_class(const float* numbers, int64_t step, int64_t classes) const {
  int64_t best = 0;
  for (int64_t c = 1; c < classes; ++c)
    if (numbers[c * step] > numbers[best * step]) best = c;
  if (rule_.certainty == Certainty::kSigmoid) return {sigmoid_of(numbers[best * step]), best};
  float sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += expf(numbers[c * step] - numbers[best * step]);
  return {1 / sum, best};
}

/// Adds the boxes of one bottom with a score above the threshold.
void GridDetections::find(const float* x, size_t bottom, int64_t image) {
  const BoxGrid& grid = grids_[bottom];
  const Anchors anchors = {anchors_.data(), int64_t(anchors_.size() / 2), bottoms_[bottom].chosen.data(),
                           bottoms_[bottom].unit};
  const int64_t step = grid.cells();
  for (int64_t slot = 0; slot < grid.slots(); ++slot) {
    const int64_t at = grid.at(image, slot);
    const float sure = sigmoid_of(x[at + 4 * step]);
    if (!(sure > rule_.least_score)) continue;  // times a class probability it cannot increase
    const Detection found = best_class(x + at + 5 * step, step, grid.classes);
    const float score = sure * found.score;
    if (!(score > rule_.least_score)) continue;
    boxes_.push_back(corners_of(grid.box(x, at, slot, anchors)));
    scores_.push_back(score);
    labels_.push_back(found.label);
  }
}

void GridDetections::add_rows(int64_t image) {
  const std::vector<int> order = best_first(scores_.data(), int64_t(scores_.size()), rule_.least_score, -1);
  for (const int i : suppress(boxes_.data(), order, {.threshold = rule_.nms_threshold}))
    found_.add(image, labels_[size_t(i)] + 1, scores_[size_t(i)], boxes_[size_t(i)]);
}

}  // namespace cortado
