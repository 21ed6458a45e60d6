#pragma once

// Values that change places because the axes of their tensor change their order, and what the layers share that do so.

#include <vector>

#include "layers/layer.h"

namespace cortado {

class Permutation {
 public:
  Permutation() = default;

  /// Of x, plain and of shape `x`, to a y whose axis k is x's axis order[k]. `order` names each axis once.
  Permutation(const Shape& x, const std::vector<int>& order);

  /// Whether all values keep their places.
  bool stays() const { return stays_; }

  /// From y to x.
  Permutation inverse() const;

  /// Writes every element of `to`, which has `from`'s type.
  void run(Context& context, const Tensor& from, const Tensor& to) const;

  /// An axis as both sides see it: how far apart its elements lie on each.
  struct Axis {
    int64_t extent, from, to;
  };

 private:
  void arrange();
  template <template <typename> class Functor, size_t N>
  void run_rows(Context& context, const Tensor& from, const Tensor& to) const;

  std::vector<Axis>
      axes_;  ///< those that cannot be seen as one with a neighbour; the loop along a row runs over the last
  bool stays_ = true;
};

/// A layer whose y is x with its values in other places. infer() says which.
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
