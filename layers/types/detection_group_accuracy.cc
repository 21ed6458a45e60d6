// DetectionGroupAccuracy (Cascade R-CNN): the accuracy of the classes and boxes of a branch with several templates at
// each position. Bottoms are the scores of K classes N G x K x H x W, boxes N G x 4 x H x W encoded as in
// common/template_field.h and normalized as in bbox_reg_param, and labels N G x 6 x H x W (common/branch_labels.h), for
// G templates of each of N images. y, 1 x 1 x 1 x 2, is the fraction of positions whose best score is that of their
// label, over all positions and over those with objects. A second top is the mean overlap of objects and boxes. -1
// means that no such position exists. Of equal scores the first class is the best.
//
// With objectness the label of all objects is 1. Positions with loss_param.ignore_label are ignored, and so are
// background positions that overlap an object by bg_threshold or more. Classes that are not among the K make y NaN.

#include <algorithm>
#include <cmath>

#include "core/device/host_view.h"
#include "core/error.h"
#include "layers/common/detection/template_group.h"
#include "layers/common/detection/template_loss.h"
#include "layers/common/losses/branch_labels.h"
#include "layers/registry.h"

namespace cortado {

namespace {

class DetectionGroupAccuracyLayer : public Layer {
 public:
  explicit DetectionGroupAccuracyLayer(const LayerOptions& options)
      : config_(options.config),
        param_(options.config.detection_group_accuracy_param()),
        fields_(template_group(param_, "detection_group_accuracy_param", param_, "detection_group_accuracy_param")),
        scale_(offset_scale(options.config.bbox_reg_param())) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    labels_ =
        group_labels(x, param_.cls_num(), param_.objectness(), config_.loss_param(), "detection_group_accuracy_param");
    images_of_group(x[0], 0, int64_t(fields_.size()));
    width_ = x[0][3];
    const std::vector<Shape> y = {{1, 1, 1, 2}, {1, 1, 1, 1}};
    return {.y = {y.begin(), y.begin() + std::max(config_.top_size(), 1)}, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }

  void forward(Context& context, const Operands& io) override {
    const HostView scores(context, io.x[0].f32(), io.x[0].count()), boxes(context, io.x[1].f32(), io.x[1].count());
    const HostView values(context, io.x[2].f32(), io.x[2].count());
    labels_.values = values.data();
    CountedMean all, objects, overlaps;
    for (int64_t n = 0; n < labels_.images; ++n)
      for (int64_t p = 0; p < labels_.places; ++p) {
        if (!labels_.counts(n, p) || (labels_.label(n, p) == 0 && labels_.overlap(n, p) >= param_.bg_threshold()))
          continue;
        const double right = judge(scores.data() + n * int64_t(param_.cls_num()) * labels_.places + p, n, p);
        all.add(right);
        if (!labels_.is_object(n, p)) continue;
        objects.add(right);
        overlaps.add(double(fit(boxes.data() + n * 4 * labels_.places + p, n, p)));
      }
    float* y = stages_[0].begin(context, io.y[0].f32(), 2);
    y[0] = all.mean(), y[1] = objects.mean();
    stages_[0].commit(context);
    if (io.y.size() < 2) return;
    *stages_[1].begin(context, io.y[1].f32(), 1) = overlaps.mean();
    stages_[1].commit(context);
  }

  void validate(Context& context, const Operands& io) override { validate_branch_labels(context, io.x[2], labels_); }
  bool differentiable(int) const override { return false; }
  LayerRoles roles() override { return {.needs_host = true}; }

 private:
  /// 1 if the best score of a position is that of its label, else 0; NaN if the label is not a class.
  double judge(const float* scores, int64_t n, int64_t p) const {
    if (!labels_.valid(n, p)) return NAN;
    int64_t best = 0;
    for (int64_t c = 1; c < int64_t(param_.cls_num()); ++c)
      if (scores[c * labels_.places] > scores[best * labels_.places]) best = c;
    const float label = labels_.label(n, p);
    return float(best) == (param_.objectness() ? std::min(label, 1.0f) : label) ? 1 : 0;
  }

  /// The overlap of a position's box with its object.
  float fit(const float* o, int64_t n, int64_t p) const {
    const TemplateField& field = fields_[size_t(n) % fields_.size()];
    const BoxOffsets offsets = field.limited(scale_.undone(offsets_at(o, labels_.places)));
    return box_overlap(field.box(offsets, p / width_, p % width_), labels_.object(n, p));
  }

  const caffe::LayerParameter& config_;
  const caffe::DetectionGroupAccuracyParameter& param_;
  std::vector<TemplateField> fields_;
  OffsetScale scale_;
  BranchLabels labels_ = {};
  int64_t width_ = 1;
  HostStage stages_[2];
};

const RegisterLayer register_detection_group_accuracy({
    .name = "DetectionGroupAccuracy",
    .help = "the accuracy of the classes of a branch with several templates (Cascade R-CNN)",
    .options = "detection_group_accuracy_param",
    .min_bottoms = 3,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_layer<DetectionGroupAccuracyLayer>,
    .kind = LayerKind::kScore,
    .loss_fields = "ignore_label",
    .higher_is_better = true,
});

}  // namespace

}  // namespace cortado
