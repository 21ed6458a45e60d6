// GeneralContrastiveLoss (NormFace, Wang et al. 2017): the C-contrastive loss of distances x, N x C, to the centres of
// classes, and labels. y is the sum, divided by N, of
//   positive_weight min(max(x - positive_margin, 0), positive_outlier_thresh)  for the label
//   negative_weight max(negative_margin - x, 0)                                for all other classes
// A second top, for display, has the means of both without their weights; it passes no gradient. An invalid label makes
// y NaN.

#include <cmath>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/typed.h"
#include "layers/common/losses/class_labels.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

struct ContrastOfCentres {
  const float* x;
  ClassLabels labels;
  float positive_margin, negative_margin, positive_weight, negative_weight, most;

  CORTADO_HD bool valid(int64_t i) const { return labels.valid(i / labels.classes); }
  CORTADO_HD bool is_label(int64_t i) const { return labels.at(i / labels.classes) == i % labels.classes; }
  CORTADO_HD float excess(int64_t i) const {
    return is_label(i) ? fminf(fmaxf(x[i] - positive_margin, 0), most) : fmaxf(negative_margin - x[i], 0);
  }
  CORTADO_HD float slope(int64_t i) const {
    if (!valid(i)) return 0;
    if (!is_label(i)) return x[i] < negative_margin ? -negative_weight : 0;
    return x[i] > positive_margin && x[i] - positive_margin < most ? positive_weight : 0;
  }
};

/// For reduce_rows: row 0 sums the labels' terms, row 1 the others.
struct ContrastTerm {
  ContrastOfCentres of;
  CORTADO_HD float operator()(int64_t k, int64_t i) const {
    if (!of.valid(i)) return NAN;
    return of.is_label(i) == (k == 0) ? of.excess(i) : 0;
  }
};

struct ContrastMeans {
  const float* sums;
  float *y, *means;  ///< means null: no second top
  float positive_weight, negative_weight, samples, others;
  CORTADO_HD void operator()(int64_t) const {
    *y = (positive_weight * sums[0] + negative_weight * sums[1]) / samples;
    if (!means) return;
    means[0] = sums[0] / samples;
    means[1] = others > 0 ? sums[1] / (samples * others) : 0;
  }
};

struct ContrastBackward {
  ContrastOfCentres of;
  const float* dy;
  float* dx;
  float scale;
  CORTADO_HD void operator()(int64_t i) const { dx[i] = dy ? dy[0] * scale * of.slope(i) : 0; }
};

class GeneralContrastiveLossLayer : public Layer, public ReadsClasses {
 public:
  explicit GeneralContrastiveLossLayer(const LayerOptions& options)
      : param_(options.config.general_contrastive_loss_param()), tops_(options.config.top_size()) {
    const std::string field = "general_contrastive_loss_param.";
    const std::pair<bool, const char*> refused[] = {{param_.max_negative_only(), "max_negative_only"},
                                                    {param_.max_positive_only(), "max_positive_only"},
                                                    {param_.exp_negative_weight(), "exp_negative_weight"},
                                                    {param_.square(), "square"},
                                                    {param_.add_intra_mae(), "add_intra_mae"}};
    for (const auto& [on, name] : refused)
      if (on) throw FieldError(field + name, "true is not supported", "set false");
    const std::pair<float, const char*> numbers[] = {{param_.positive_margin(), "positive_margin"},
                                                     {param_.negative_margin(), "negative_margin"},
                                                     {param_.positive_weight(), "positive_weight"},
                                                     {param_.negative_weight(), "negative_weight"}};
    for (const auto& [value, name] : numbers)
      if (!std::isfinite(value)) throw FieldError(field + name, "it is " + to_text(value));
    if (param_.has_positive_outlier_thresh() && !(param_.positive_outlier_thresh() >= 0))
      throw FieldError(field + "positive_outlier_thresh",
                       "it is " + to_text(param_.positive_outlier_thresh()) + ", but must not be below 0");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], 2);
    samples_ = x[0][0], classes_ = x[0].count(1);
    require_labels(x[0], x[1], samples_);
    LayerShapes shapes{.y = {Shape()}, .w = {}};
    if (tops_ > 1) shapes.y.push_back({2});
    return shapes;
  }

  LayerRoles roles() override { return {.classes = this}; }
  std::optional<ClassLabels> class_labels() const override { return ClassLabels{nullptr, classes_}; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {true, true};
    needs.forward_scratch = 2 * kFloatBytes;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    float* sums = static_cast<float*>(io.scratch);
    reduce_rows(context, 2, samples_ * classes_, ContrastTerm{terms(io)}, sums);
    for_each(context, 1,
             ContrastMeans{sums, io.y[0].f32(), tops_ > 1 ? io.y[1].f32() : nullptr, param_.positive_weight(),
                           param_.negative_weight(), float(samples_), float(classes_ - 1)});
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dx[0])
      for_each(context, samples_ * classes_,
               ContrastBackward{terms(io), io.dy[0].f32(), io.dx[0].f32(), 1 / float(samples_)});
  }

  void validate(Context& context, const Operands& io) override {
    validate_labels(context, io.x[1], ClassLabels{nullptr, classes_}, 1, "bottom[0] needs a distance to each class");
  }
  bool differentiable(int i) const override { return i == 0; }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 3 * x[0].count(); }

 private:
  ContrastOfCentres terms(const Operands& io) const {
    return {io.x[0].f32(),
            {io.x[1].f32(), classes_},
            param_.positive_margin(),
            param_.negative_margin(),
            param_.positive_weight(),
            param_.negative_weight(),
            param_.has_positive_outlier_thresh() ? param_.positive_outlier_thresh() : INFINITY};
  }

  const caffe::GeneralContrastiveLossParameter& param_;
  int tops_;
  int64_t samples_ = 0, classes_ = 1;
};

const RegisterLayer register_general_contrastive_loss({
    .name = "GeneralContrastiveLoss",
    .help = "the loss of distances to the centres of classes (NormFace)",
    .options = "general_contrastive_loss_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_layer<GeneralContrastiveLossLayer>,
    .loss = LossRole{},
});

}  // namespace

}  // namespace cortado
