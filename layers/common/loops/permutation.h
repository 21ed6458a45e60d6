#pragma once

// Transposition of a tensor's axes, and the base of layers that do it.

#include <vector>

#include "layers/layer.h"

namespace cortado {

class Permutation {
 public:
  Permutation() = default;

  /// From x, plain and of shape `x`, to a y whose axis k is axis order[k] of x. `order` names each axis once.
  Permutation(const Shape& x, const std::vector<int>& order);

  /// Whether it is the identity in memory.
  bool stays() const { return stays_; }

  /// The permutation from y to x.
  Permutation inverse() const;

  /// Writes every element of `to`, which has the type of `from`.
  void run(Context& context, const Tensor& from, const Tensor& to) const;

  /// An axis with its stride on each side.
  struct Axis {
    int64_t extent, from, to;
  };

 private:
  void arrange();
  template <template <typename> class Functor, size_t N>
  void run_rows(Context& context, const Tensor& from, const Tensor& to) const;

  std::vector<Axis> axes_;  ///< after merging; the loop along a row runs over the last
  bool stays_ = true;
};

/// A layer whose y is a permutation of x. Derived classes choose it in infer().
class PermutingLayer : public Layer {
 public:
  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kFollow}; }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;

 protected:
  void permute(const Permutation& permutation);

 private:
  Permutation there_, back_;
};

}  // namespace cortado
