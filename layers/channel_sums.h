#pragma once

// Sums over everything but the channel, for gradients of one number per channel. In two steps, within each channel of
// each sample and then over the samples: no division per element in any layout, the same bits for any number of
// threads. For .cu files, as core/for_each.h is.

#include "core/for_each.h"
#include "layers/broadcast.h"

namespace cortado {

namespace {

/// Term i of row r, a row being one channel of one sample. Channels lie in groups of `lanes` (1, 16 or all) side by
/// side.
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

}  // namespace

/// x seen as what comes before, in and behind the extents that the smaller tensor has.
inline ChannelView view_of(const TensorSpec& x, const Broadcast& smaller) {
  const int end = smaller.axis + smaller.shape.axes();
  return {x.shape.count(0, smaller.axis), smaller.shape.count(), x.shape.count(end), x.layout};
}

/// Bytes of scratch that sum_channels() wants.
inline int64_t channel_sums_scratch(const ChannelView& view) {
  return view.outer * view.channels * int64_t(sizeof(float));
}

/// out[c] = sum of term(i) over the stored elements i of channel c, added to what is there when `add`. `term` is a
/// named type with a `CORTADO_HD float operator()(int64_t i) const`. Blocked storage must have no padding lanes.
template <typename Term>
void sum_channels(Context& context, const ChannelView& view, const Term& term, void* scratch, float* out, bool add) {
  float* rows = static_cast<float*>(scratch);
  const int64_t lanes = view.layout == Layout::kBlocked16      ? 16
                        : view.layout == Layout::kChannelsLast ? view.channels
                                                               : 1;
  reduce_rows(context, view.outer * view.channels, view.inner, RowTerm<Term>{term, view.inner, lanes}, rows);
  reduce_rows(context, view.channels, view.outer, RowSum{rows, view.channels}, out, add);
}

}  // namespace cortado
