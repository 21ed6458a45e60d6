#pragma once

// The base of CTCGreedyDecoder and LabelsequenceAccuracy: from class scores for each step of sequences, the labels of
// the best path (ctc_loss.h). These are the best class of each step (the first of equals), without repetitions, then
// without blanks. y is the labels, or the fraction of sequences with the labels of bottom[1], N x L, in which blanks
// are ignored.

#include <string>

#include "layers/layer.h"
#include "layers/roles.h"

namespace cortado {

class BestPathLayer : public Layer, public Scoring {
 public:
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  Ratio quotient(size_t) const override { return {.fixed = compares_ ? double(sequences_) : 0}; }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return x[0].count(); }
  LayerRoles roles() override { return {.scoring = this}; }

 protected:
  /// Shapes for scores of shape x[0], whose first axis is steps, or else sequences. `blank` is the value of the option
  /// `field`; below 0 it is the last class. Throws FieldError.
  LayerShapes infer_paths(const std::vector<Shape>& x, bool steps_first, int64_t blank, const std::string& field);

  bool merges_ = true;  ///< drop repetitions

 private:
  bool compares_ = false;  ///< compare with bottom[1]
  bool steps_first_ = false;
  int64_t steps_ = 0, sequences_ = 0, classes_ = 0, blank_ = 0, width_ = 0;
};

}  // namespace cortado
