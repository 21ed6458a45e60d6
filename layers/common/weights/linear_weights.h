#pragma once

// The weights of a layer that is linear in them (w and perhaps a bias) on their way to its kernel. Usually that is no
// way at all: they are stored as the kernel wants them. In a frozen net there are reasons to derive others and keep
// both:
//   - followers were folded in: w' = scale w, b' = scale b + shift for each output channel
//   - another net owns the weights and stores them otherwise than this kernel likes
//   - the kernel likes them transformed for good, or in 16 bits
// A kernel whose w has 16 bits wants its bias so, too.

#include <optional>
#include <vector>

#include "layers/operands.h"

namespace cortado {

class LinearWeights {
 public:
  /// The format that a kernel has to accept; nothing where it may choose. To be asked before the kernel is made.
  static std::optional<kernels::WeightFormat> fixed_format(const PrepareRequest& request);

  /// Settles the formats in `needs` for a kernel that wants `kernel`, which needs a bias where affine steps of
  /// request.post are folded in. `own_bias`: the layer's own w are two, not one.
  /// `channels_first`: the output channels are the first axis of w, else the last.
  /// `bias`: as the kernel wants it; nothing: plain, of the type of w.
  void prepare(const PrepareRequest& request, const kernels::WeightFormat& kernel, bool own_bias, bool channels_first,
               LayerNeeds& needs, const std::optional<kernels::WeightFormat>& bias = {});

  const void* w(const Operands& io) const;     ///< in the kernel's format
  const void* bias(const Operands& io) const;  ///< null where there is none

 private:
  bool folds() const { return !folded_.empty(); }
  bool derives_bias() const { return folds() || (own_bias_ && !bias_.is_plain()); }
  void derive(Context& context, const Operands& io) const;
  void fold_into(Context& context, std::vector<float>& w, std::vector<float>& bias, const Operands& io) const;

  std::vector<kernels::ChannelAffine> folded_;    ///< their weights follow the layer's own
  kernels::WeightFormat stored_, kernel_, bias_;  ///< of w here and in the kernel, and of the kernel's bias
  bool own_bias_ = false, channels_first_ = true, derives_ = false;
};

}  // namespace cortado
