// DetectionAccuracy (MS-CNN): the accuracy of a branch's classes and boxes. Bottoms are a branch N x (K + 4) x H x W,
// the scores of K classes and boxes encoded as in common/template_field.h, and labels (common/branch_labels.h). y, 1 x
// 1 x 1 x 2, is the fraction of positions whose best score is that of their label, over all positions and over those
// with objects. A second top is the mean overlap of objects and boxes. -1 means that no such position exists. Of equal
// scores the last class is the best, as in MS-CNN.
//
// Positions with loss_param.ignore_label are ignored, and so are background positions that overlap an object by half or
// more.

#include <algorithm>
#include <cmath>

#include "core/device/host_view.h"
#include "core/error.h"
#include "layers/common/detection/template_field.h"
#include "layers/common/losses/branch_labels.h"
#include "layers/registry.h"

namespace cortado {

namespace {

constexpr float kDetectionAccuracyUnclear = 0.5f;  ///< background that overlaps an object by at least this is ignored

class DetectionAccuracyLayer : public Layer {
 public:
  explicit DetectionAccuracyLayer(const LayerOptions& options)
      : config_(options.config),
        param_(options.config.detection_accuracy_param()),
        field_{float(param_.field_w()), float(param_.field_h()), float(param_.downsample_rate()), param_.field_whr(),
               param_.field_xyr()} {
    field_.check("detection_accuracy_param");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    labels_ = branch_labels(x[0], x[1], param_.cls_num(), param_.coord_num(), config_.loss_param(),
                            "detection_accuracy_param");
    width_ = x[0][3];
    const std::vector<Shape> y = {{1, 1, 1, 2}, {1, 1, 1, 1}};
    return {.y = {y.begin(), y.begin() + std::max(config_.top_size(), 1)}, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }

  void forward(Context& context, const Operands& io) override {
    const HostView x(context, io.x[0].f32(), io.x[0].count()), values(context, io.x[1].f32(), io.x[1].count());
    labels_.values = values.data();
    CountedMean all, objects, boxes;
    for (int64_t n = 0; n < labels_.images; ++n)
      for (int64_t p = 0; p < labels_.places; ++p) {
        const float label = labels_.label(n, p);
        if (!labels_.counts(n, p) || (label == 0 && labels_.overlap(n, p) >= kDetectionAccuracyUnclear)) continue;
        const float* place = x.data() + n * (labels_.classes + 4) * labels_.places + p;
        const double right = labels_.valid(n, p) ? double(float(best(place)) == label) : NAN;
        all.add(right);
        if (!labels_.is_object(n, p)) continue;
        objects.add(right);
        boxes.add(double(fit(place, n, p)));
      }
    float* y = stages_[0].begin(context, io.y[0].f32(), 2);
    y[0] = all.mean(), y[1] = objects.mean();
    stages_[0].commit(context);
    if (io.y.size() < 2) return;
    *stages_[1].begin(context, io.y[1].f32(), 1) = boxes.mean();
    stages_[1].commit(context);
  }

  void validate(Context& context, const Operands& io) override { validate_branch_labels(context, io.x[1], labels_); }
  bool differentiable(int) const override { return false; }
  LayerRoles roles() override { return {.needs_host = true}; }

 private:
  /// The class with the best score.
  int64_t best(const float* place) const {
    int64_t found = 0;
    for (int64_t c = 1; c < labels_.classes; ++c)
      if (place[c * labels_.places] >= place[found * labels_.places]) found = c;
    return found;
  }

  /// The overlap of a position's box with its object.
  float fit(const float* place, int64_t n, int64_t p) const {
    const float* o = place + labels_.classes * labels_.places;
    const int64_t apart = labels_.places;
    const Box box = field_.box(field_.limited({o[0], o[apart], o[2 * apart], o[3 * apart]}), p / width_, p % width_);
    return box_overlap(box, labels_.object(n, p));
  }

  const caffe::LayerParameter& config_;
  const caffe::DetectionAccuracyParameter& param_;
  TemplateField field_;
  BranchLabels labels_ = {};
  int64_t width_ = 1;
  HostStage stages_[2];
};

const RegisterLayer register_detection_accuracy({
    .name = "DetectionAccuracy",
    .help = "the accuracy of a branch's classes, and the overlap of its boxes",
    .options = "detection_accuracy_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_layer<DetectionAccuracyLayer>,
    .kind = LayerKind::kScore,
    .loss_fields = "ignore_label",
    .higher_is_better = true,
});

}  // namespace

}  // namespace cortado
