#pragma once

// Sums over everything but the channel, for gradients with one number per channel. In two steps, within each channel of
// each sample and then over the samples. This needs no division per element in any layout, and the result is
// bit-identical for any number of threads. For .cu files, like core/loops/for_each.h.

#include "layers/common/loops/broadcast.h"
#include "layers/common/loops/typed.h"

namespace cortado {

namespace {

/// Term i of row r, a row being one channel of one sample. Groups of `lanes` (1, 16 or all) channels are interleaved.
template <typename Term>
struct RowTerm {
  Term term;
  int64_t inner, lanes;
  CORTADO_HD float operator()(int64_t r, int64_t i) const { return term((r / lanes * inner + i) * lanes + r % lanes); }
};

/// The sum of channel c in sample i.
struct RowSum {
  const float* sums;
  int64_t channels;
  CORTADO_HD float operator()(int64_t c, int64_t i) const { return sums[i * channels + c]; }
};

/// Converts sums to a tensor of another type.
template <typename T>
struct Round {
  T* to;
  const float* from;
  CORTADO_HD void operator()(int64_t i) const { to[i] = from[i]; }
};

/// x as the axes before, in and after the extents of the smaller tensor.
inline ChannelView view_of(const TensorSpec& x, const Broadcast& smaller) {
  const int end = smaller.axis + smaller.shape.axes();
  return {x.shape.count(0, smaller.axis), smaller.shape.count(), x.shape.count(end), x.layout};
}

/// The output of the sums, and the scratch that they need.
struct ChannelSums {
  void* scratch;
  const Tensor& out;  ///< outlives this: a copy would allocate
  bool add;           ///< add to the old value, for `out` of 32-bit floats
};

/// Bytes of scratch that the sums need.
inline int64_t channel_sums_scratch(const ChannelView& view) {
  return (view.outer + 1) * view.channels * int64_t(sizeof(float));
}

/// The first step: a sum for each channel of each sample, in `rows`.
template <template <typename> class Term, typename... Members>
void sum_rows(Context& context, const ChannelView& view, float* rows, const Members&... members) {
  const int64_t lanes = view.layout == Layout::kBlocked16      ? 16
                        : view.layout == Layout::kChannelsLast ? view.channels
                                                               : 1;
  const auto sum = [&](const auto& term) {
    const RowTerm<std::decay_t<decltype(term)>> row_term{term, view.inner, lanes};
    reduce_rows(context, view.outer * view.channels, view.inner, row_term, rows);
  };
  with_functor<Term>(sum, members...);
}

/// sums.out[c] = sum of term(i) over the stored elements i of channel c. The term is a Term<T> made of `members` as in
/// layers/common/loops/typed.h, with a `CORTADO_HD float operator()(int64_t i) const`. Blocked storage must have no
/// padding lanes.
template <template <typename> class Term, typename... Members>
void sum_channels(Context& context, const ChannelView& view, const ChannelSums& sums, const Members&... members) {
  float* rows = static_cast<float*>(sums.scratch);
  sum_rows<Term>(context, view, rows, members...);
  const bool rounds = sums.out.spec.dtype != DType::kF32;
  float* out = rounds ? rows + view.outer * view.channels : sums.out.f32();
  reduce_rows(context, view.channels, view.outer, RowSum{rows, view.channels}, out, sums.add);
  if (rounds) for_each_typed<Round>(context, sums.out, out);
}

/// The same over all channels: one sum.
template <template <typename> class Term, typename... Members>
void sum_all(Context& context, const ChannelView& view, const ChannelSums& sums, const Members&... members) {
  float* rows = static_cast<float*>(sums.scratch);
  sum_rows<Term>(context, view, rows, members...);
  reduce_rows(context, 1, view.outer * view.channels, RowSum{rows, 1}, sums.out.f32(), sums.add);
}

}  // namespace

}  // namespace cortado
