// LabeledMatching (online instance matching, Xiao et al. 2017): the similarities of features with those of labelled
// persons, and the labels, where a label that is not a person becomes -1. In backward the feature f of each labelled
// row's person becomes
//     f = momentum f + (1 - momentum) x,
// row after row, as in the fork: its length is not set to 1 again. A second weight counts the passes since then.
// layers/common/weights/feature_memory.h has the rest.

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/losses/class_labels.h"
#include "layers/common/weights/feature_memory.h"
#include "layers/registry.h"

namespace cortado {

namespace {

struct KeepPersons {
  ClassLabels labels;
  float* y;
  CORTADO_HD void operator()(int64_t i) const { y[i] = labels.valid(i) ? labels.values[i] : -1; }
};

/// One number of every feature.
struct MovePersons {
  const float* x;
  ClassLabels labels;
  float* stored;
  int64_t samples, width;
  float momentum;
  CORTADO_HD void operator()(int64_t k) const {
    for (int64_t i = 0; i < samples; ++i) {
      if (!labels.valid(i)) continue;
      float& kept = stored[labels.at(i) * width + k];
      kept = momentum * kept + (1 - momentum) * x[i * width + k];
    }
  }
};

struct CountUnseen {
  ClassLabels labels;
  float* passes;
  int64_t samples;
  CORTADO_HD void operator()(int64_t person) const {
    bool seen = false;
    for (int64_t i = 0; i < samples; ++i) seen = seen || (labels.valid(i) && labels.at(i) == person);
    passes[person] = seen ? 0 : passes[person] + 1;
  }
};

class LabeledMatchingLayer : public FeatureMemory {
 public:
  explicit LabeledMatchingLayer(const LayerOptions& options)
      : FeatureMemory(options.config.labeled_matching_param().num_classes(), "labeled_matching_param.num_classes",
                      "set the number of persons"),
        momentum_(options.config.labeled_matching_param().momentum()) {
    if (!(momentum_ >= 0 && momentum_ <= 1))
      throw FieldError("labeled_matching_param.momentum", "it is " + to_text(momentum_) + ", but must lie in [0, 1]",
                       "set the share of a feature that is kept");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    LayerShapes shapes = FeatureMemory::infer(x);
    shapes.y.push_back(x[1]);
    shapes.w.push_back({.shape = {stored_}, .filler = {}, .learned = false});
    return shapes;
  }

  void forward(Context& context, const Operands& io) override {
    FeatureMemory::forward(context, io);
    for_each(context, samples_, KeepPersons{labels(io), io.y[1].f32()});
  }

 protected:
  void take_in(Context& context, const Operands& io) override {
    for_each(context, width_, MovePersons{io.x[0].f32(), labels(io), io.w[0].f32(), samples_, width_, momentum_});
    for_each(context, stored_, CountUnseen{labels(io), io.w[1].f32(), samples_});
  }

 private:
  ClassLabels labels(const Operands& io) const { return {.values = io.x[1].f32(), .classes = stored_, .whole = false}; }

  float momentum_;
};

const RegisterLayer register_labeled_matching({
    .name = "LabeledMatching",
    .help = "similarities with the features of labelled persons (person search)",
    .options = "labeled_matching_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 2,
    .max_tops = 2,
    .make = make_layer<LabeledMatchingLayer>,
    .needs_whole_batch = true,
});

}  // namespace

}  // namespace cortado
