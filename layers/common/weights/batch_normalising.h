#pragma once

// What BatchNorm and BN share: each channel by kernels/batch_norm.h with the batch's own mean and variance or with
// given ones, factors and terms, and what a layer takes over behind it. A layer says where the statistics come from,
// where those of a batch go, and which weights the factors and terms are.

#include <memory>
#include <optional>

#include "kernels/batch_norm.h"
#include "layers/layer.h"

namespace cortado {

class BatchNormalising : public Layer {
 public:
  /// One Scale, where it has no factors of its own.
  bool accepts(const kernels::PostOps& post, NetMode mode) const override;
  StorageRule storage(const kernels::PostOps&) const override {
    return {.layout = LayoutRule::kFollow, .type = TypeRule::kFollow};
  }
  std::vector<Fusion> fusions(const FusionQuery& query) const override;
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  /// With the statistics that forward saved, whoever made them.
  void recompute(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>& y) const override;

 protected:
  struct Form {
    float eps = 0;
    bool given_statistics = false;        ///< else the batch's own
    bool scales = false, shifts = false;  ///< factors of its own, and terms
    bool relu = false;                    ///< of its own
    size_t gamma = 0;                     ///< which weight the factors are; the terms are the next one
  };
  explicit BatchNormalising(const Form& form) : form_(form), post_(with_own({})) {}

  /// Of each channel.
  struct Moments {
    float *mean, *variance;
  };
  /// Writes what is given.
  virtual void give(Context& context, const Operands& io, const Moments& moments) = 0;
  /// The running average that a batch's statistics are added to, where it is one that a kernel may keep in passing.
  virtual kernels::RunningAverage average(const Operands& io) const = 0;
  /// Keeps what a batch had, which is not empty; not called where a kernel has kept it.
  virtual void keep(Context& context, const Operands& io, const Moments& moments) = 0;

  static int64_t channels_of(const Shape& x) { return x.axes() > 1 ? x[1] : 1; }

  const Form form_;

 private:
  kernels::PostOps with_own(kernels::PostOps post) const;
  bool scales() const { return !post_.affine.empty(); }
  bool shifts() const { return scales() && post_.affine[0].shifts; }
  static Moments moments(const Operands& io);
  kernels::BatchNormOperands operands(const Operands& io) const;

  kernels::PostOps post_;  ///< with at most one affine step; adds x[1]
  std::optional<Fusion> reads_sums_, leaves_map_, takes_map_;
  std::unique_ptr<kernels::BatchNorm> norm_;
  std::unique_ptr<kernels::BatchNorm> again_;  ///< the same with given statistics, for recompute()
};

}  // namespace cortado
