// Batch normalization with the loops of core/loops/for_each.h. Forward makes one pass over x for the statistics and one
// for the result. Backward makes one pass over x and dy for the sums and one for dx. Statistics are sums of x - shift
// and its square, where shift, the channel's first value, keeps the sums small; or unshifted sums from the layer that
// wrote x. Backward, with g = dy where the ReLU passed, else 0:
//     dbeta = sum g,  dgamma = sum g (x - mean) / std,
//     dx = gamma / std * (g - dbeta / m - (x - mean) / std * dgamma / m),  daddend = g.
// As in kernels/cpu/batch_norm_native.cc the ReLU needs no mask without an addend: backward repeats forward's
// arithmetic on x and tests the sign. With an addend forward stores a byte per pack, one bit per value. The pass that
// computes the sums replaces dy by g, in place if requested, and the pass for dx reads g. If dy comes in two parts,
// each pass that reads it adds them in 32 bits.
//
// All passes are memory-bound, so values move in packs of 16 bytes (channel_packs.h), and a thread processes four packs
// per read of its channels' coefficients. channel_pair_sums.h describes how sums are divided. Each direction has three
// kernels: partial sums; their total and the per-channel work, including the running average; the results.

#include "core/half.h"
#include "kernels/batch_norm.h"
#include "kernels/device/batch_norm_packs.h"
#include "kernels/scratch.h"

namespace cortado::kernels {
namespace {

using namespace batch_norm;

class BatchNormGeneric final : public BatchNorm {
 public:
  explicit BatchNormGeneric(const BatchNormRequest& request)
      : r_(request),
        shares_(pack_shares(request.x)),
        runs_{shares_.p, shares_.width},
        values_(double(std::max<int64_t>(1, request.x.shape[0] * request.x.shape.count(2)))) {
    for (int64_t& part : single_) part = scratch_.add(r_.channels() * int64_t(sizeof(float)));
    sums_ = scratch_.add(shares_.bytes());
  }

  std::string name() const override { return "plain"; }
  int64_t forward_scratch() const override { return scratch_.bytes(); }
  int64_t backward_scratch() const override { return scratch_.bytes(); }
  int64_t mask_bytes() const override { return r_.post.sum && r_.post.activation ? shares_.p.packs() : 0; }
  bool needs_mask() const override { return true; }

  bool keeps_average() const override { return true; }
  void forward(Context& context, const BatchNormOperands& io) override {
    with_packs([&](auto type, auto width) { forward_as<decltype(type), width>(context, io); });
  }
  void backward(Context& context, const BatchNormOperands& io) override {
    with_packs([&](auto type, auto width) { backward_as<decltype(type), width>(context, io); });
  }

 private:
  /// Calls use(T(), width) with both as compile-time constants.
  template <typename Use>
  void with_packs(const Use& use) const {
    with_float_type(r_.x.dtype, [&](auto type) {
      if (shares_.width == 1)
        use(type, std::integral_constant<int, 1>());
      else
        use(type, std::integral_constant<int, Pack<decltype(type)>::kWidth>());
    });
  }

  Coefficients coefficients(void* scratch) const {
    const auto array = [&](int64_t offset) { return static_cast<float*>(scratch_part(scratch, offset)); };
    return {array(single_[0]), array(single_[1]), array(single_[2]), array(single_[3])};
  }

  float* sums(const BatchNormOperands& io) const { return static_cast<float*>(scratch_part(io.scratch, sums_)); }

  Prepare prepare(const BatchNormOperands& io, const Coefficients& k) const {
    return {{io.variance, io.gamma, io.beta, r_.eps}, k};
  }

  template <typename T, int kWidth>
  Normal<T, kWidth> normal(const BatchNormOperands& io, const Coefficients& k) const {
    return {shares_.p, static_cast<const T*>(io.x), io.mean, k.slope, k.beta};
  }

  template <typename T, int kWidth>
  void set_statistics(Context& context, const BatchNormOperands& io, const Coefficients& k) const {
    const PackedChannels& p = shares_.p;
    if (p.packs() == 0) return for_each(context, r_.channels(), Zero{io.mean, io.variance});
    Statistics<T> statistics{nullptr, 0, values_, io.mean, io.variance, io.average, prepare(io, k)};
    if (r_.sums_given) return for_each(context, r_.channels(), GivenSums<T>{io.sums, r_.channels(), statistics});
    statistics.shift = static_cast<const T*>(io.x);
    statistics.stride = p.last ? 1 : p.inner * kWidth;
    sum_shares<kWidth>(context, shares_, StatisticsTerm<T, kWidth>{p, statistics.shift}, sums(io));
    finish_channels(context, shares_, shares_.shares, sums(io), statistics);
  }

  template <typename T, int kWidth>
  void forward_as(Context& context, const BatchNormOperands& io) {
    const Coefficients k = coefficients(io.scratch);
    if (r_.given_statistics)
      for_each(context, r_.channels(), prepare(io, k));
    else
      set_statistics<T, kWidth>(context, io, k);
    if (r_.writes_map) return for_each(context, r_.channels(), LeaveMap{k, io.mean, io.map, r_.channels()});
    const T* addend = r_.post.sum ? static_cast<const T*>(io.addend) : nullptr;
    uint8_t* mask = mask_bytes() > 0 ? static_cast<uint8_t*>(io.mask) : nullptr;
    for_each(context, runs_.calls(),
             Forward<T, kWidth>{runs_, normal<T, kWidth>(io, k), addend, r_.maps_addend ? io.addend_map : nullptr,
                                static_cast<T*>(io.y), mask, r_.post.activation});
  }

  template <typename T, int kWidth>
  void backward_as(Context& context, const BatchNormOperands& io) {
    const Coefficients k = coefficients(io.scratch);
    const auto* mask = r_.post.sum ? static_cast<const uint8_t*>(io.mask) : nullptr;
    const T* more = r_.two_dy ? static_cast<const T*>(io.more_dy) : nullptr;
    Passed<T, kWidth> passed{normal<T, kWidth>(io, k), static_cast<const T*>(io.dy), more, mask, r_.post.activation};
    const bool g_is_there = !r_.post.activation && !more && io.daddend == io.dy;
    T* daddend = g_is_there ? nullptr : static_cast<T*>(io.daddend);
    const bool wants_sums = io.dgamma || io.dbeta || daddend || !r_.given_statistics;
    const Prepare all = prepare(io, k);
    if (wants_sums)
      sum_shares<kWidth>(context, shares_, GradientTerm<T, kWidth>{passed, all.affine, daddend}, sums(io));
    finish_channels(context, shares_, wants_sums ? shares_.shares : 0, sums(io),
                    Finish{all, values_, r_.given_statistics, io.dgamma, io.dbeta, io.add_dgamma, io.add_dbeta});
    if (!io.dx) return;
    if (io.daddend) passed = {passed.normal, static_cast<const T*>(io.daddend)};
    for_each(context, runs_.calls(), Backward<T, kWidth>{runs_, passed, k.by_x, k.rest, static_cast<T*>(io.dx)});
  }

  BatchNormRequest r_;
  PackShares shares_;
  PackRuns runs_;
  double values_;  ///< values per channel
  ScratchLayout scratch_;
  int64_t single_[4] = {}, sums_ = 0;  ///< offsets in scratch
};

}  // namespace

std::unique_ptr<BatchNorm> make_batch_norm_generic(const BatchNormRequest& request, Context&, std::string& why) {
  if (request.x.layout == Layout::kBlocked16) return why = "blocks are for the CPU", nullptr;
  return std::make_unique<BatchNormGeneric>(request);
}

}  // namespace cortado::kernels
