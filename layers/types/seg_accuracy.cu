// SegAccuracy: DeepLab's three metrics of a segmentation, over all pixels of the batch whose label is not one of
// ignore_label. They are the pixel accuracy; the mean accuracy of the classes that occur; and the mean IoU
// (intersection over union) of all classes. The IoU of a class that neither occurs nor is predicted is 1. Of equal
// scores the higher class is the best, as in ArgMax.
//
// x[0] is N x C x ... with scores, x[1] has a label for each position. If all pixels are ignored, the three are 0.

#include <algorithm>
#include <cmath>

#include "core/device/device_memory.h"
#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/typed.h"
#include "layers/common/losses/class_labels.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

/// Labels, some of which are ignored.
struct PixelLabels {
  const float* values;
  int64_t classes;
  const float* ignored;
  int64_t ignores;

  CORTADO_HD bool counts(int64_t i) const {
    for (int64_t k = 0; k < ignores; ++k)
      if (values[i] == ignored[k]) return false;
    return true;
  }
  CORTADO_HD bool valid(int64_t i) const { return ClassLabels{values, classes}.valid(i); }
};

/// The class of each pixel's best score: -1 if it is ignored, NaN if its label is not a class.
template <typename T>
struct Predict {
  const T* scores;
  PixelLabels labels;
  int64_t inner;
  float* best;

  CORTADO_HD void operator()(int64_t i) const {
    best[i] = !labels.counts(i) ? -1 : labels.valid(i) ? float(best_of(i)) : NAN;
  }
  CORTADO_HD int64_t best_of(int64_t i) const {
    const T* own = scores + i / inner * labels.classes * inner + i % inner;
    int64_t best = 0;
    float most = -INFINITY;
    for (int64_t c = 0; c < labels.classes; ++c)
      if (const float score = own[c * inner]; score >= most) most = score, best = c;
    return best;
  }
};

/// Three rows of counts per class: correct pixels, pixels of the class, pixels predicted as the class. NaN if a label
/// is invalid.
struct Confusion {
  const float *labels, *best;
  int64_t classes;
  CORTADO_HD float operator()(int64_t k, int64_t i) const {
    if (best[i] != best[i]) return NAN;
    if (best[i] < 0) return 0;
    const float c = float(k % classes);
    const bool is = labels[i] == c, seems = best[i] == c;
    return (k < classes ? is && seems : k < 2 * classes ? is : seems) ? 1 : 0;
  }
};

struct Finish {
  const float* sums;
  int64_t classes;
  float* y;
  CORTADO_HD void operator()(int64_t) const {
    double right = 0, all = 0, recall = 0, overlap = 0;
    int64_t occur = 0;
    for (int64_t c = 0; c < classes; ++c) {
      const double both = sums[c], is = sums[classes + c], either = is + double(sums[2 * classes + c]) - both;
      right += both;
      all += is;
      if (is > 0) recall += both / is, ++occur;
      overlap += either == 0 ? 1 : both / either;
    }
    const bool none = all == 0;
    y[0] = none ? 0 : float(right / all);
    y[1] = none ? 0 : float(all != all ? all : recall / double(occur));
    y[2] = none ? 0 : float(overlap / double(classes));
  }
};

class SegAccuracyLayer : public Layer {
 public:
  explicit SegAccuracyLayer(const LayerOptions& options)
      : ignored_(options.config.seg_accuracy_param().ignore_label().begin(),
                 options.config.seg_accuracy_param().ignore_label().end()) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], 2);
    classes_ = x[0][1];
    inner_ = x[0].count(2);
    pixels_ = x[0][0] * inner_;
    if (classes_ == 0) throw FieldError("bottom[0]", "it has no channels, hence no classes");
    require_labels(x[0], x[1], pixels_);
    return {.y = {Shape{3}}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kReads}; }
  bool differentiable(int) const override { return false; }

  LayerNeeds prepare(const PrepareRequest&, Context& context) override {
    LayerNeeds needs;
    needs.forward_scratch = checked_mul(pixels_ + 3 * classes_, sizeof(float));
    if (ignored_.empty()) return needs;
    on_device_ = DeviceMemory(context, ignored_.size() * sizeof(float));
    copy_to_device(context, on_device_.data(), ignored_.data(), ignored_.size() * sizeof(float));
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    float *best = static_cast<float*>(io.scratch), *sums = best + pixels_;
    const float *labels = io.x[1].f32(), *ignored = reinterpret_cast<const float*>(on_device_.data());
    const auto each = [&](const auto& functor) { for_each(context, pixels_, functor); };
    with_functor<Predict>(each, io.x[0], PixelLabels{labels, classes_, ignored, int64_t(ignored_.size())}, inner_,
                          best);
    reduce_rows(context, 3 * classes_, pixels_, Confusion{labels, best, classes_}, sums);
    for_each(context, 1, Finish{sums, classes_, io.y[0].f32()});
  }

  void validate(Context& context, const Operands& io) override {
    const HostView view(context, io.x[1].f32(), io.x[1].count());
    const PixelLabels labels{view.data(), classes_, ignored_.data(), int64_t(ignored_.size())};
    for (int64_t i = 0; i < pixels_; ++i)
      if (labels.counts(i) && !labels.valid(i))
        throw BadLabel(labels.values[i], i, inner_, classes_, "ignore_label excludes values");
  }

  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return x[0].count(); }

 private:
  std::vector<float> ignored_;
  DeviceMemory on_device_;  ///< the same, on the device
  int64_t classes_ = 0, inner_ = 0, pixels_ = 0;
};

const RegisterLayer register_seg_accuracy({
    .name = "SegAccuracy",
    .help = "pixel accuracy, mean class accuracy and mean IoU of a segmentation",
    .options = "seg_accuracy_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<SegAccuracyLayer>,
    .kind = LayerKind::kScore,
    .higher_is_better = true,
});

}  // namespace

}  // namespace cortado
