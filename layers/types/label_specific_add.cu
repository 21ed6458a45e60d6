// LabelSpecificAdd (NormFace's repository; the margin of AM-Softmax, Wang et al. 2018): y = x, except that in training
// the score of each sample's label becomes x + bias, if that is above 0. Bottoms are scores N x C and labels. dx = dy.
//
// If bias_base is set, bias is bias_base + (1 + bias_gamma n)^bias_power - 1 in pass n, within bias_min and bias_max. n
// is counted over the whole training, from `iteration` on. An invalid label makes its row NaN.

#include <cmath>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/typed.h"
#include "layers/common/losses/labelled_scores.h"
#include "layers/registry.h"

namespace cortado {

namespace {

struct LabelBias {
  float bias;
  bool grows;
  float gamma, power, least, most, first;
  const uint64_t* pass;
  CORTADO_HD float value() const {
    if (!grows) return bias;
    return fminf(fmaxf(bias + powf(1 + gamma * (first + float(*pass)), power) - 1, least), most);
  }
};

template <typename T>
struct LabelSpecificAddForward {
  const T* x;
  T* y;
  ClassLabels labels;
  LabelBias bias;
  bool adds;
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t n = i / labels.classes;
    const float score = x[i];
    if (!adds) {
      y[i] = score;
    } else if (!labels.valid(n)) {
      y[i] = NAN;
    } else {
      const float sum = score + bias.value();
      y[i] = labels.at(n) == i % labels.classes && sum > 0 ? sum : score;
    }
  }
};

template <typename T>
struct LabelSpecificAddBackward {
  const T* dy;
  T* dx;
  CORTADO_HD void operator()(int64_t i) const { dx[i] = dy[i]; }
};

class LabelSpecificAddLayer : public LabelledScoresLayer {
 public:
  explicit LabelSpecificAddLayer(const LayerOptions& options)
      : param_(options.config.label_specific_add_param()), training_(options.phase == caffe::TRAIN) {
    const std::pair<float, const char*> numbers[] = {{param_.bias(), "bias"},
                                                     {param_.bias_base(), "bias_base"},
                                                     {param_.bias_gamma(), "bias_gamma"},
                                                     {param_.bias_power(), "bias_power"},
                                                     {param_.bias_min(), "bias_min"},
                                                     {param_.bias_max(), "bias_max"}};
    for (const auto& [value, name] : numbers)
      if (!std::isfinite(value))
        throw FieldError(std::string("label_specific_add_param.") + name, "it is " + to_text(value));
    if (param_.bias_gamma() < 0)
      throw FieldError("label_specific_add_param.bias_gamma",
                       "it is " + to_text(param_.bias_gamma()) + ", but must not be below 0");
    if (param_.iteration() < 0)
      throw FieldError("label_specific_add_param.iteration",
                       "it is " + std::to_string(param_.iteration()) + ", but must not be below 0");
  }

  void forward(Context& context, const Operands& io) override {
    const LabelBias bias = {param_.has_bias_base() ? param_.bias_base() : param_.bias(),
                            param_.has_bias_base(),
                            param_.bias_gamma(),
                            param_.bias_power(),
                            param_.bias_min(),
                            param_.bias_max(),
                            float(param_.iteration()),
                            context.pass_word()};
    for_each_typed<LabelSpecificAddForward>(context, io.x[0], io.y[0], ClassLabels{io.x[1].f32(), classes_}, bias,
                                            training_);
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dx[0]) for_each_typed<LabelSpecificAddBackward>(context, io.dy[0], io.dx[0]);
  }

  void validate(Context& context, const Operands& io) override {
    if (training_) LabelledScoresLayer::validate(context, io);
  }

 private:
  const caffe::LabelSpecificAddParameter& param_;
  bool training_;
};

const RegisterLayer register_label_specific_add({
    .name = "LabelSpecificAdd",
    .help = "adds a number to the score of each label, in training (NormFace)",
    .options = "label_specific_add_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<LabelSpecificAddLayer>,
});

}  // namespace

}  // namespace cortado
