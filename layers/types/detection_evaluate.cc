// DetectionEvaluate: compares detections (bottom[0], rows as in DetectionOutput) with the annotated objects (bottom[1],
// layers/common/detection/ground_truth.h). y is 1 x 1 x rows x 5. For each class but the background it has a row -1,
// class, its number of objects, -1, -1; then for each detection image, class, score, and 1 or 0 for true and for false
// positive. A detection is matched with the object of its image and class that it overlaps most. It is correct if they
// overlap by overlap_threshold or more, and no better detection has matched the object. Difficult objects, unless
// evaluate_difficult_gt, are not counted, nor are detections that match them. Detections are sorted by image, class and
// score. Average precisions follow from all rows of a test (layers/roles.h).
//
// Overlaps are computed in relative coordinates: name_size_file, which SSD uses to convert to pixels, is not read.
//
// With a third bottom, the sizes of the images N x 2, rows are Cascade R-CNN's: of FrcnnOutput, image, left, top,
// right, bottom, class, score; and of EvalData, image, left, top, right, bottom, class, ignored (not read), difficult.
// Sides are a pixel longer than the difference of corners. The sizes are not read: overlaps are computed in pixels of
// the net's images, which Cascade R-CNN converts to those of the files.

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/detection/detection_shapes.h"
#include "layers/common/detection/ground_truth.h"
#include "layers/registry.h"
#include "layers/roles.h"

namespace cortado {

namespace {

constexpr int64_t kJudgedWidth = 5;

struct DetectionEvaluateCandidate {
  int64_t image;
  int label;
  float score;
  Box box;
};

class DetectionEvaluateLayer : public Layer, public Scoring {
 public:
  explicit DetectionEvaluateLayer(const LayerOptions& options)
      : param_(options.config.detection_evaluate_param()), classes_(param_.num_classes()) {
    if (classes_ < 1 || classes_ > kMaxClasses)
      throw FieldError(
          "detection_evaluate_param.num_classes",
          "it is " + std::to_string(classes_) + ", but must lie between 1 and " + std::to_string(kMaxClasses),
          "set the number of classes, including the background");
    if (!(param_.overlap_threshold() > 0))
      throw FieldError("detection_evaluate_param.overlap_threshold",
                       "it is " + to_text(param_.overlap_threshold()) + ", but must be above 0");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    cascade_ = x.size() > 2;
    require_rows(x[0], 0, kDetectionWidth, cascade_ ? "use the top of FrcnnOutput" : "use the top of DetectionOutput");
    require_rows(x[1], 1, kTruthWidth,
                 cascade_ ? "use the second top of EvalData" : "use the second top of AnnotatedData");
    if (cascade_ && (x[2].axes() < 2 || x[2].count(1) != 2))
      throw FieldError("bottom[2]", "its shape is " + x[2].str() + ", but must be N x 2",
                       "use the third top of EvalData");
    detections_ = x[0].count() / kDetectionWidth;
    return {.y = {Shape{1, 1, counted_classes() + detections_, kJudgedWidth}}, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }

  void forward(Context& context, const Operands& io) override {
    const HostView detections(context, io.x[0].f32(), io.x[0].count()),
        objects(context, io.x[1].f32(), io.x[1].count());
    if (cascade_) {
      reorder(detections.data(), objects.data(), io.x[1].count() / kTruthWidth);
      sort_objects(reordered_objects_.data(), io.x[1].count() / kTruthWidth);
      sort_candidates(reordered_detections_.data());
    } else {
      sort_objects(objects.data(), io.x[1].count() / kTruthWidth);
      sort_candidates(detections.data());
    }
    float* y = stage_.begin(context, io.y[0].f32(), io.y[0].count());
    std::fill_n(y, io.y[0].count(), 0.f);
    judge(write_counts(y));
    stage_.commit(context);
  }

  bool differentiable(int) const override { return false; }
  LayerRoles roles() override { return {.needs_host = true, .scoring = this}; }
  Ratio quotient(size_t) const override { return {}; }
  int64_t detection_classes() const override { return classes_; }

 private:
  static constexpr uint32_t kMaxClasses = 1 << 20;

  void require_rows(const Shape& shape, int64_t i, int64_t width, const std::string& what) const {
    if (shape.axes() >= 1 && (cascade_ ? shape.count(1) : shape[shape.axes() - 1]) == width) return;
    throw FieldError(entry("bottom", i),
                     "its shape is " + shape.str() + ", but rows need " + std::to_string(width) + " numbers", what);
  }

  /// Converts Cascade R-CNN's rows.
  void reorder(const float* detections, const float* objects, int64_t count) {
    reordered_detections_.clear(), reordered_objects_.clear();
    for (int64_t i = 0; i < detections_; ++i) {
      const float* row = detections + i * kDetectionWidth;
      reordered_detections_.insert(reordered_detections_.end(),
                                   {row[0], row[5], row[6], row[1], row[2], row[3], row[4]});
    }
    for (int64_t i = 0; i < count; ++i) {
      const float* row = objects + i * kTruthWidth;
      reordered_objects_.insert(reordered_objects_.end(), {row[0], row[5], 0, row[1], row[2], row[3], row[4], row[7]});
    }
  }

  bool is_background(int64_t label) const { return label == int64_t(param_.background_label_id()); }
  int64_t counted_classes() const {
    return param_.background_label_id() < classes_ ? int64_t(classes_) - 1 : int64_t(classes_);
  }

  void sort_objects(const float* rows, int64_t count) {
    float images = 0;
    for (int64_t i = 0; i < count; ++i)
      if (rows[i * kTruthWidth] < float(count)) images = std::max(images, rows[i * kTruthWidth] + 1);
    truths_.resize(size_t(images));
    sort_truths(rows, count, truths_);
  }

  /// Sorts by image, class and score; drops rows that are not detections.
  void sort_candidates(const float* rows) {
    candidates_.clear();
    for (int64_t i = 0; i < detections_; ++i) {
      const float* row = rows + i * kDetectionWidth;
      const bool sound = row[0] >= 0 && row[0] < 1e9f && row[1] >= 0 && row[1] < float(classes_) && !std::isnan(row[2]);
      if (!sound || is_background(int64_t(row[1]))) continue;
      candidates_.push_back({int64_t(row[0]), int(row[1]), row[2], {row[3], row[4], row[5], row[6]}});
    }
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const DetectionEvaluateCandidate& a, const DetectionEvaluateCandidate& b) {
                       if (a.image != b.image) return a.image < b.image;
                       return a.label != b.label ? a.label < b.label : a.score > b.score;
                     });
  }

  /// Returns the start of the rows of detections.
  float* write_counts(float* y) const {
    std::vector<int64_t> objects(classes_);
    for (const std::vector<Truth>& of_image : truths_)
      for (const Truth& truth : of_image)
        if (truth.label >= 0 && truth.label < int(classes_) && counts(truth)) ++objects[size_t(truth.label)];
    for (int64_t c = 0; c < int64_t(classes_); ++c) {
      if (is_background(c)) continue;
      const float row[] = {-1, float(c), float(objects[size_t(c)]), -1, -1};
      y = std::copy_n(row, kJudgedWidth, y);
    }
    return y;
  }

  bool counts(const Truth& truth) const { return param_.evaluate_difficult_gt() || !truth.difficult; }

  void judge(float* y) {
    std::vector<bool> found;
    int64_t image = -1;
    for (const DetectionEvaluateCandidate& one : candidates_) {
      static const std::vector<Truth> none;
      const std::vector<Truth>& truths = one.image < int64_t(truths_.size()) ? truths_[size_t(one.image)] : none;
      if (one.image != image) found.assign(truths.size(), false);
      image = one.image;
      size_t best = 0;
      float overlap = -1;
      for (size_t t = 0; t < truths.size(); ++t) {
        if (truths[t].label != one.label) continue;
        const float with_this = box_overlap(one.box, truths[t].box, cascade_ ? 1 : 0);
        if (with_this > overlap) best = t, overlap = with_this;
      }
      const bool hits = overlap >= param_.overlap_threshold();
      const bool left_out = hits && !counts(truths[best]), right = hits && !left_out && !found[best];
      if (right) found[best] = true;
      const float row[] = {float(one.image), float(one.label), one.score, float(right), float(!right && !left_out)};
      y = std::copy_n(row, kJudgedWidth, y);
    }
  }

  const caffe::DetectionEvaluateParameter& param_;
  uint32_t classes_;
  bool cascade_ = false;  ///< there is a third bottom
  int64_t detections_ = 0;
  std::vector<float> reordered_detections_, reordered_objects_;
  std::vector<std::vector<Truth>> truths_;
  std::vector<DetectionEvaluateCandidate> candidates_;
  HostStage stage_;
};

const RegisterLayer register_detection_evaluate({
    .name = "DetectionEvaluate",
    .help = "correct detections, and the number of objects of each class",
    .options = "detection_evaluate_param",
    .min_bottoms = 2,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<DetectionEvaluateLayer>,
    .kind = LayerKind::kScore,
    .higher_is_better = true,
});

}  // namespace

}  // namespace cortado
