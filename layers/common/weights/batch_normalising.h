#pragma once

// The base of BatchNorm and BN: normalizes each channel by kernels/batch_norm.h, with the batch's mean and variance or
// with given ones, factors and terms, and the steps fused after it. A derived layer defines where the statistics come
// from, where those of a batch are stored, and which weights the factors and terms are.

#include <memory>
#include <optional>

#include "kernels/batch_norm.h"
#include "layers/layer.h"

namespace cortado {

class BatchNormalising : public Layer {
 public:
  /// One Scale, if it has no factors of its own.
  bool accepts(const kernels::PostOps& post, NetMode mode) const override;
  StorageRule storage(const kernels::PostOps&) const override {
    return {.layout = LayoutRule::kFollow, .type = TypeRule::kFollow};
  }
  std::vector<Fusion> fusions(const FusionQuery& query) const override;
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  /// Uses the statistics that forward saved.
  void recompute(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>& y) const override;

 protected:
  struct Form {
    float eps = 0;
    bool given_statistics = false;        ///< false: the batch's statistics
    bool scales = false, shifts = false;  ///< has its own factors, and terms
    bool relu = false;                    ///< has its own ReLU
    size_t gamma = 0;                     ///< index of the weight of the factors; the terms are the next weight
  };
  explicit BatchNormalising(const Form& form) : form_(form), post_(with_own({})) {}

  /// Statistics of each channel.
  struct Moments {
    float *mean, *variance;
  };
  /// Writes the given statistics.
  virtual void give(Context& context, const Operands& io, const Moments& moments) = 0;
  /// The running average to which a batch's statistics are added, if a kernel may do it.
  virtual kernels::RunningAverage average(const Operands& io) const = 0;
  /// Updates the running average with the statistics of a non-empty batch. Not called if a kernel has done it.
  virtual void keep(Context& context, const Operands& io, const Moments& moments) = 0;

  static Moments moments(const Operands& io);
  static int64_t channels_of(const Shape& x) { return x.axes() > 1 ? x[1] : 1; }

  const Form form_;

 private:
  kernels::PostOps with_own(kernels::PostOps post) const;
  bool scales() const { return !post_.affine.empty(); }
  bool shifts() const { return scales() && post_.affine[0].shifts; }
  kernels::BatchNormOperands operands(const Operands& io) const;

  kernels::PostOps post_;  ///< with at most one affine step; adds x[1]
  std::optional<Fusion> reads_sums_, leaves_map_, takes_map_;
  std::unique_ptr<kernels::BatchNorm> norm_;
  std::unique_ptr<kernels::BatchNorm> again_;  ///< the same with given statistics, for recompute()
};

}  // namespace cortado
