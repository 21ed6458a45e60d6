#pragma once

// The weights of a layer that is linear in them (w and an optional bias), in the formats of its kernel. Usually they
// are stored in that format. A frozen net may derive others and keep both, because
//   - following steps were folded in: w' = scale w, b' = scale b + shift for each output channel
//   - another net owns the weights and stores them in another format
//   - the kernel prefers them transformed, or in 16 bits
// A kernel with a 16-bit w needs a 16-bit bias, too.

#include <optional>
#include <vector>

#include "layers/operands.h"

namespace cortado {

class LinearWeights {
 public:
  /// The format that a kernel must accept; none if it may choose. Call it before creating the kernel.
  static std::optional<kernels::WeightFormat> fixed_format(const PrepareRequest& request);

  /// Sets the formats in `needs` for a kernel that requires `kernel`. The kernel needs a bias if affine steps of
  /// request.post are folded in. `own_bias`: the layer's own w are two, not one. `channels_first`: the output channels
  /// are the first axis of w, else the last. `bias`: the kernel's format; none: plain, of the type of w.
  void prepare(const PrepareRequest& request, const kernels::WeightFormat& kernel, bool own_bias, bool channels_first,
               LayerNeeds& needs, const std::optional<kernels::WeightFormat>& bias = {});

  const void* w(const Operands& io) const;     ///< in the kernel's format
  const void* bias(const Operands& io) const;  ///< null without a bias

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
