#pragma once

// What differs between oneDNN 2.6 and oneDNN 3. The rest of this folder is written for both. Bits of results differ,
// too: see docs/determinism.md.

#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <utility>
#include <vector>

namespace cortado::kernels::onednn {

using Desc = dnnl::memory::desc;

#if DNNL_VERSION_MAJOR >= 3
using PoolingForward = dnnl::pooling_forward;
using PoolingBackward = dnnl::pooling_backward;
using SoftmaxForward = dnnl::softmax_forward;
using SoftmaxBackward = dnnl::softmax_backward;
#else
using PoolingForward = dnnl::pooling_v2_forward;
using PoolingBackward = dnnl::pooling_v2_backward;
using SoftmaxForward = dnnl::softmax_v2_forward;
using SoftmaxBackward = dnnl::softmax_v2_backward;
#endif
constexpr bool kIsVersion3 = DNNL_VERSION_MAJOR >= 3;
/// Whether the Factors of a convolution multiply its bias, too.
constexpr bool kFactorsIncludeBias = !kIsVersion3;
constexpr bool kHasWinograd = !kIsVersion3;
constexpr bool kGeluOfInfinityIsNaN = kIsVersion3;
/// Whether kernels by its batch-reduced matrix products are wrong for some shapes (faults.h).
constexpr bool kBatchReduceIsFaulty = kIsVersion3;

/// Describes a forward primitive. `arguments` are those of oneDNN 3 between the engine and the attributes.
template <typename Forward, typename... Arguments>
typename Forward::primitive_desc describe_forward(const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
                                                  const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, arguments..., attributes};
#else
  return {typename Forward::desc(arguments...), attributes, engine};
#endif
}

/// Likewise for a backward primitive; `forward` is the descriptor that the library takes as a hint.
template <typename Backward, typename ForwardDesc, typename... Arguments>
typename Backward::primitive_desc describe_backward(const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
                                                    const ForwardDesc& forward, const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, arguments..., forward, attributes};
#else
  return {typename Backward::desc(arguments...), attributes, engine, forward};
#endif
}

void append_eltwise(dnnl::post_ops& post, dnnl::algorithm algorithm, float alpha, float beta);

/// Factors of a result before its post-ops. oneDNN 2.6 takes them when a primitive is created, 3 when it runs.
class Factors {
 public:
  Factors() = default;  ///< none
  /// One for all values of a reorder, or one for each place along the axes of `mask`.
  static Factors of_reorder(std::vector<float> values, int mask = 0);
  /// One for each output channel.
  static Factors of_convolution(std::vector<float> values, bool grouped);

  void add_to(dnnl::primitive_attr& attributes) const;
  /// What the primitive needs when it runs, in addition to its operands.
  std::vector<std::pair<int, dnnl::memory>> operands(const dnnl::engine& engine) const;

 private:
  Factors(std::vector<float> values, int argument, int mask)
      : values_(std::move(values)), argument_(argument), mask_(mask) {}

  std::vector<float> values_;
  [[maybe_unused]] int argument_ = 0;  // 2.6 has factors of a single operand only
  int mask_ = 0;
};

dnnl::memory::dims extents(const Desc& desc);
dnnl::memory::data_type value_type(const Desc& desc);

/// A block of `extent` places along `axis`.
struct Block {
  int64_t extent, axis;
};
/// From outermost to innermost.
std::vector<Block> inner_blocks(const Desc& desc);

/// Two formats of the same weights in which the padding counts as values.
struct WithPadding {
  Desc stored, plain;
};
/// oneDNN 2.6 loses values of some padded formats on the way to plain ones: AB16b64a of 100 x 9216, for example. So the
/// padding is converted, too, and cut off afterwards. nullopt if the library converts `stored` to `plain` correctly.
std::optional<WithPadding> with_padding(const Desc& stored, const Desc& plain);

/// Whether code for `isa` uses the instructions of `part`. Later versions have sets that are unknown to earlier ones.
bool includes(dnnl::cpu_isa isa, dnnl::cpu_isa part);

}  // namespace cortado::kernels::onednn
