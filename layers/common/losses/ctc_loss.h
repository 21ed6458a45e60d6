#pragma once

// Connectionist temporal classification (Graves et al., 2006), which CtcLoss and WarpCTCLoss compute: x, T x N x C, are
// scores of classes for T steps of N sequences, of which softmax makes probabilities. A path names a class for each
// step; without repetitions, then without blanks, it is a sequence of labels. The loss of a sequence is -log of the
// probability of all paths that are its labels; y is their sum / N.
//
// bottom[1] is N x L: the labels of each sequence, where blanks, wherever they stand, do not count. Labels that need
// more steps than there are have neither loss nor gradient, as in Baidu's warp-ctc, which the forks call. Unlike theirs
// the gradient is that of y: theirs leaves out the division by N (loss_weight: N gives it).
//
// Forward and backward variables are logarithms in double, and so are the sums over paths.

#include "layers/layer.h"
#include "layers/roles.h"

namespace cortado {

class CtcLossLayer : public Layer, public Scoring {
 public:
  explicit CtcLossLayer(const LayerOptions& options) : param_(options.config.ctc_loss_param()) {}

  LayerShapes infer(const std::vector<Shape>& x) override;
  LayerRoles roles() override { return {.scoring = this}; }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;
  void validate(Context& context, const Operands& io) override;
  bool differentiable(int i) const override { return i == 0; }
  Ratio quotient(size_t) const override { return {.fixed = double(sequences_)}; }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>& y) const override;

 private:
  struct Parts;
  Parts parts(const Operands& io) const;
  int64_t rows() const { return steps_ * sequences_; }
  int64_t states() const { return 2 * width_ + 1; }  ///< labels, and the blanks around them
  float scale() const { return sequences_ > 0 ? 1 / float(sequences_) : 0; }

  const caffe::CtcLossParameter& param_;
  int64_t steps_ = 0, sequences_ = 0, classes_ = 0, width_ = 0;  ///< T, N, C, L
  bool learns_ = false;
  int64_t scratch_[3] = {};  ///< offsets of its parts
};

}  // namespace cortado
