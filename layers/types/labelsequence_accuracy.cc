// LabelsequenceAccuracy: the fraction of sequences whose best-path labels (layers/common/losses/best_path.h) of scores
// N x T x C equal those of bottom[1], as in crnn.caffe.

#include "core/error.h"
#include "layers/common/losses/best_path.h"
#include "layers/registry.h"

namespace cortado {

namespace {

class LabelsequenceAccuracyLayer : public BestPathLayer {
 public:
  explicit LabelsequenceAccuracyLayer(const LayerOptions& options)
      : param_(options.config.labelsequence_accuracy_param()) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    const std::string field = "labelsequence_accuracy_param.blank_label";
    if (param_.blank_label() < 0)
      throw FieldError(field, "blank_label is negative", "set the index of the blank class");
    return infer_paths(x, /*steps_first=*/false, param_.blank_label(), field);
  }

  bool differentiable(int) const override { return false; }

 private:
  const caffe::LabelsequenceAccuracyParameter& param_;
};

const RegisterLayer register_labelsequence_accuracy({
    .name = "LabelsequenceAccuracy",
    .help = "the fraction of sequences whose labels are all correct",
    .options = "labelsequence_accuracy_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<LabelsequenceAccuracyLayer>,
    .kind = LayerKind::kScore,
    .higher_is_better = true,
});

}  // namespace

}  // namespace cortado
