// LabelSpecificRescale (NormFace's repository): y is x times negative_weight, except for the score of each sample's
// label,
//   ((positive_weight + lambda) x + b) / (1 + lambda),   b = 1 - positive_weight with for_ip, else 0
// Bottoms are scores N x C and labels. lambda changes from pass to pass (common/loops/pass_weight.h); it is the second
// top. Tests leave x as it is, unless rescale_test is set. An invalid label makes its row NaN.
//
// The gradient is exact; NormFace omits lambda from it.

#include <cmath>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/pass_weight.h"
#include "layers/common/loops/typed.h"
#include "layers/common/losses/labelled_scores.h"
#include "layers/registry.h"

namespace cortado {

namespace {

struct LabelScales {
  ClassLabels labels;
  float positive, negative, shift;
  PassWeight rule;
  const uint64_t* pass;
  CORTADO_HD bool is_label(int64_t i) const { return labels.at(i / labels.classes) == i % labels.classes; }
  /// Without an offset, which NormFace omits if positive_weight is 1: it is 0 then.
  CORTADO_HD float factor(int64_t i) const {
    if (!labels.valid(i / labels.classes)) return NAN;
    const float lambda = rule.at(*pass);
    return is_label(i) ? (positive + lambda) / (1 + lambda) : negative;
  }
  CORTADO_HD float offset(int64_t i) const {
    return labels.valid(i / labels.classes) && is_label(i) ? shift / (1 + rule.at(*pass)) : 0;
  }
};

template <typename T>
struct LabelSpecificRescaleForward {
  const T* x;
  T* y;
  LabelScales scales;
  CORTADO_HD void operator()(int64_t i) const { y[i] = x[i] * scales.factor(i) + scales.offset(i); }
};

template <typename T>
struct LabelSpecificRescaleBackward {
  const T* dy;
  T* dx;
  LabelScales scales;
  CORTADO_HD void operator()(int64_t i) const {
    const float factor = scales.factor(i);
    dx[i] = factor == factor ? dy[i] * factor : 0;
  }
};

class LabelSpecificRescaleLayer : public LabelledScoresLayer {
 public:
  explicit LabelSpecificRescaleLayer(const LayerOptions& options)
      : param_(options.config.label_specific_rescale_param()),
        rule_{param_.base(), param_.gamma(), param_.power(), param_.lambda_min(), 1},
        scales_(options.phase == caffe::TRAIN || param_.rescale_test()),
        tops_(options.config.top_size()) {
    rule_.check("label_specific_rescale_param");
    for (const auto& [value, name] :
         {std::pair(param_.positive_weight(), "positive_weight"), {param_.negative_weight(), "negative_weight"}})
      if (!std::isfinite(value))
        throw FieldError(std::string("label_specific_rescale_param.") + name, "it is " + to_text(value));
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    LayerShapes shapes = LabelledScoresLayer::infer(x);
    if (tops_ > 1) shapes.y.push_back({1});
    return shapes;
  }

  void forward(Context& context, const Operands& io) override {
    for_each_typed<LabelSpecificRescaleForward>(context, io.x[0], io.y[0], scales_of(context, io));
    if (tops_ > 1) for_each(context, 1, FindPassWeight{context.pass_word(), rule_, io.y[1].f32()});
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dx[0]) for_each_typed<LabelSpecificRescaleBackward>(context, io.dy[0], io.dx[0], scales_of(context, io));
  }

 private:
  LabelScales scales_of(Context& context, const Operands& io) const {
    const ClassLabels labels = {io.x[1].f32(), classes_};
    if (!scales_) return {labels, 1, 1, 0, {}, context.pass_word()};
    const float positive = param_.positive_weight(), shift = param_.for_ip() ? 1 - positive : 0;
    return {labels, positive, param_.negative_weight(), shift, rule_, context.pass_word()};
  }

  const caffe::LabelSpecificRescaleParameter& param_;
  PassWeight rule_;
  bool scales_;
  int tops_;
};

const RegisterLayer register_label_specific_rescale({
    .name = "LabelSpecificRescale",
    .help = "scales the scores of labels and of other classes (NormFace)",
    .options = "label_specific_rescale_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_layer<LabelSpecificRescaleLayer>,
});

}  // namespace

}  // namespace cortado
