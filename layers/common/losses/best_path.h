#pragma once

// What CTCGreedyDecoder and LabelsequenceAccuracy share: of scores of classes for each step of sequences, the labels of
// the best path (ctc_loss.h): the class with the greatest score in each step, the first of equals, without repetitions,
// then without blanks. y is the labels, or the share of sequences whose labels are those of bottom[1], N x L, where
// blanks do not count.

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
  /// For scores of shape x[0], whose first axis is steps or else sequences. `blank` is the option `field`, below 0 the
  /// last class. Throws FieldError.
  LayerShapes infer_paths(const std::vector<Shape>& x, bool steps_first, int64_t blank, const std::string& field);

  bool merges_ = true;  ///< repetitions are left out

 private:
  bool compares_ = false;  ///< with bottom[1]
  bool steps_first_ = false;
  int64_t steps_ = 0, sequences_ = 0, classes_ = 0, blank_ = 0, width_ = 0;
};

}  // namespace cortado
