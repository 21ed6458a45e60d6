// FrcnnOutput (Cascade R-CNN): the detections in one image. Bottoms are the probabilities of K classes R x K, offsets
// R x 4K, or with cls_aware: false R x 8 (of the background and of all objects), regions R x 5 (common/regions.h) or
// R x 6, and the image's height and width 1 x 2. y has rows of seven numbers: image, left, top, right, bottom, class,
// score. The first row is 0, then values of -1; the detections follow, by class, then by score. The layer has no
// gradient.
//
// A detection is a region after applying the offsets of a class (common/box_offsets.h, normalized as in
// bbox_reg_param), clipped to the image. Of the boxes of a class with a probability of conf_thr or more, those that
// overlap a better one by more than iou_thr are dropped. The max_det_num best of all classes stay (0: all). Sides are a
// pixel longer than the difference of their corners. nms_type IOU divides the intersection by the union, IOMU by the
// smaller box. The background, class 0, is not detected, nor are boxes with a NaN.
//
// The number of rows depends on the values (layers/roles.h). All regions must be of image 0.

#include <algorithm>
#include <cmath>

#include "core/device/host_view.h"
#include "core/error.h"
#include "core/log.h"
#include "core/text/text.h"
#include "layers/common/detection/box_offsets.h"
#include "layers/common/detection/region_rows.h"
#include "layers/registry.h"
#include "layers/roles.h"

namespace cortado {

namespace {

constexpr int64_t kFrcnnOutputWidth = 7;
constexpr float kFrcnnOutputBorder = 1;

struct FrcnnDetection {
  Box box;
  int64_t label;
  float score;
};

class FrcnnOutputLayer : public Layer, public DynamicRows {
 public:
  explicit FrcnnOutputLayer(const LayerOptions& options)
      : param_(options.config.frcnn_output_param()),
        scale_(offset_scale(options.config.bbox_reg_param())),
        by_class_(options.config.bbox_reg_param().cls_aware()),
        rule_{.threshold = param_.iou_thr(),
              .border = kFrcnnOutputBorder,
              .by_smaller = divides_by_smaller(param_.nms_type(), "frcnn_output_param")} {
    require_number(param_.conf_thr(), "frcnn_output_param.conf_thr");
    require_number(param_.iou_thr(), "frcnn_output_param.iou_thr");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    if (x[0].axes() < 2 || x[0].count(1) < 2)
      throw FieldError("bottom[0]", "its shape is " + x[0].str() + ", but must be R x K",
                       "each region needs the probabilities of the background and at least one other class");
    regions_ = x[0][0], classes_ = x[0].count(1);
    const auto require = [&](size_t i, bool right, const std::string& shape, const std::string& hint) {
      if (!right || x[i][0] != (i < 3 ? regions_ : 1))
        throw FieldError(entry("bottom", int64_t(i)), "its shape is " + x[i].str() + ", but must be " + shape, hint);
    };
    const std::string rows = std::to_string(regions_) + " x ";
    numbers_ = by_class_ ? 4 * classes_ : 8;
    require(1, x[1].axes() >= 2 && x[1].count(1) == numbers_, rows + std::to_string(numbers_),
            "set bbox_reg_param.cls_aware to false if all classes have the same box");
    require(2, x[2].axes() >= 2 && (x[2].count(1) == 5 || x[2].count(1) == 6), rows + "5 or " + rows + "6",
            "each row is the index of an image and the left, top, right and bottom of a region");
    require(3, x[3].axes() >= 2 && x[3].count(1) == 2, "1 x 2", "set the height and the width of the image");
    width_ = x[2].count(1);
    most_ = checked_mul(regions_, classes_ - 1);
    if (param_.max_det_num() > 0) most_ = std::min(most_, int64_t(param_.max_det_num()));
    live_ = ++most_;
    return {.y = current_shapes(), .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    if (!param_.save_output_param().output_directory().empty())
      log_warning() << "FrcnnOutput does not write files; ignoring output_directory '"
                    << param_.save_output_param().output_directory() << "'";
    boxes_.resize(size_t(regions_));
    scores_.resize(size_t(regions_));
    return {};
  }

  void forward(Context& context, const Operands& io) override {
    const HostView scores(context, io.x[0].f32(), io.x[0].count()), offsets(context, io.x[1].f32(), io.x[1].count());
    const HostView regions(context, io.x[2].f32(), io.x[2].count()), size(context, io.x[3].f32(), 2);
    found_.clear();
    for (int64_t c = 1; c < classes_; ++c) detect(c, scores.data(), offsets.data(), regions.data(), size.data());
    keep_best();
    float* to = stage_.begin(context, io.y[0].f32(), most_ * kFrcnnOutputWidth);
    std::fill_n(to, most_ * kFrcnnOutputWidth, 0.0f);
    std::fill_n(to + 1, kFrcnnOutputWidth - 1, -1.0f);
    live_ = 1;
    for (const FrcnnDetection& one : found_) {
      const float row[] = {0, one.box.x0, one.box.y0, one.box.x1, one.box.y1, float(one.label), one.score};
      std::copy_n(row, kFrcnnOutputWidth, to + kFrcnnOutputWidth * live_++);
    }
    stage_.commit(context);
  }

  void validate(Context& context, const Operands& io) override {
    const HostView regions(context, io.x[2].f32(), io.x[2].count());
    for (int64_t r = 0; r < regions_; ++r)
      if (const float image = regions.data()[r * width_]; image != 0)
        throw Error(ExitCode::kData, "region " + std::to_string(r) + " is of image " + to_text(image),
                    "the layer accepts one image per batch, number 0");
  }

  bool differentiable(int) const override { return false; }
  LayerRoles roles() override { return {.needs_host = true, .rows = this}; }
  std::vector<Shape> current_shapes() const override { return {{live_, kFrcnnOutputWidth}}; }

 private:
  void detect(int64_t label, const float* scores, const float* offsets, const float* regions, const float* size) {
    for (int64_t r = 0; r < regions_; ++r) {
      const float *row = regions + r * width_, *o = offsets + r * numbers_ + 4 * (by_class_ ? label : 1);
      const float score = scores[r * classes_ + label];
      const Box box = moved({row[1], row[2], row[3], row[4]}, scale_.undone({o[0], o[1], o[2], o[3]}),
                            kFrcnnOutputBorder, kFrcnnOutputBorder);
      scores_[size_t(r)] = score >= param_.conf_thr() && row[0] == 0 && !has_nan(box) ? score : -INFINITY;
      boxes_[size_t(r)] = {std::max(box.x0, 0.0f), std::max(box.y0, 0.0f), std::min(box.x1, size[1]),
                           std::min(box.y1, size[0])};
    }
    const auto order = best_first(scores_.data(), regions_, -INFINITY, -1);
    for (const int r : suppress(boxes_.data(), order, rule_))
      found_.push_back({boxes_[size_t(r)], label, scores_[size_t(r)]});
  }

  /// The max_det_num best, in the same order.
  void keep_best() {
    if (param_.max_det_num() == 0 || found_.size() <= size_t(param_.max_det_num())) return;
    std::vector<float> scores;
    for (const FrcnnDetection& one : found_) scores.push_back(one.score);
    std::vector<int> best = best_first(scores.data(), int64_t(scores.size()), -INFINITY, param_.max_det_num());
    std::sort(best.begin(), best.end());
    for (size_t i = 0; i < best.size(); ++i) found_[i] = found_[size_t(best[i])];
    found_.resize(best.size());
  }

  const caffe::FrcnnOutputParameter& param_;
  OffsetScale scale_;
  bool by_class_;
  SuppressionRule rule_;
  int64_t regions_ = 0, classes_ = 0, numbers_ = 0, width_ = 5, most_ = 1, live_ = 1;
  std::vector<Box> boxes_;  ///< of one class
  std::vector<float> scores_;
  std::vector<FrcnnDetection> found_;
  HostStage stage_;
};

const RegisterLayer register_frcnn_output({
    .name = "FrcnnOutput",
    .help = "the detections of the last stage (Cascade R-CNN)",
    .options = "frcnn_output_param",
    .min_bottoms = 4,
    .max_bottoms = 4,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<FrcnnOutputLayer>,
});

}  // namespace

}  // namespace cortado
