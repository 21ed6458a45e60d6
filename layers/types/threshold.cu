// Threshold: y = 1 where x > threshold, else 0 (also for NaN). It has no gradient. It runs in padded blocks if
// threshold >= 0, because then 0 stays 0.

#include "layers/common/loops/elementwise.h"
#include "layers/common/loops/typed.h"

namespace cortado {

namespace {

template <typename T>
struct ThresholdForward {
  const T* x;
  T* y;
  float threshold;
  CORTADO_HD void operator()(int64_t i) const { y[i] = float(x[i]) > threshold ? 1.0f : 0.0f; }
};

class ThresholdLayer : public ElementwiseLayer {
 public:
  explicit ThresholdLayer(const LayerOptions& options) : threshold_(options.config.threshold_param().threshold()) {}

  BackwardReads backward_reads() const override { return BackwardReads::kNeither; }
  bool keeps_zero() const override { return threshold_ >= 0; }

  void forward(Context& context, const Operands& io) override {
    for_each_typed<ThresholdForward>(context, io.x[0], io.y[0], threshold_);
  }

  bool differentiable(int) const override { return false; }

 private:
  float threshold_;
};

const RegisterLayer register_threshold(elementwise_type<ThresholdLayer>("Threshold", "1 above a threshold, else 0",
                                                                        "threshold_param", LayerFamily::kOther));

}  // namespace

}  // namespace cortado
