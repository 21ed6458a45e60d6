#pragma once

// Connectionist temporal classification (Graves et al., 2006), which CtcLoss and WarpCTCLoss compute. x, T x N x C, is
// class scores for T steps of N sequences; softmax makes them probabilities. A path has a class for each step. Without
// repetitions, then without blanks, it is a sequence of labels. The loss of a sequence is -log of the total probability
// of all paths with its labels; y is the sum / N.
//
// bottom[1] is N x L: the labels of each sequence; blanks in any position are ignored. Labels that need more than T
// steps have neither loss nor gradient, as in Baidu's warp-ctc, which the forks call. Unlike there, the gradient
// includes the division by N; set loss_weight to N for the same gradient.
//
// Forward and backward variables, and the sums over paths, are logarithms in double.

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
  int64_t scratch_[3] = {};  ///< offsets of the parts of scratch
};

}  // namespace cortado
