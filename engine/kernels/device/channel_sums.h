#pragma once

// Two sums over each channel of a tensor at once, for .cu files. Every channel is divided into parts, one functor call
// each, so that adjacent calls read adjacent values; then the parts are added. The division depends only on the tensor,
// so the sums are equal on all devices. Short runs accumulate in 32 bits, runs in 64.

#include <algorithm>

#include "core/loops/for_each.h"

namespace cortado::kernels {

struct TwoSums {
  float a, b;
};

/// The division of N x C x inner values.
struct ChannelParts {
  int64_t n, channels, inner;
  bool last;      ///< a channel's inner values are `channels` apart; else adjacent
  int64_t parts;  ///< per channel

  int64_t bytes() const { return 2 * channels * parts * int64_t(sizeof(float)); }
};

inline ChannelParts channel_parts(const TensorSpec& spec) {
  constexpr int64_t kCalls = 1 << 17;  // enough for a large device
  constexpr int64_t kNeighbours = 256;
  const int64_t n = spec.shape[0], c = spec.shape[1], inner = spec.shape.count(2);
  const bool last = spec.layout == Layout::kChannelsLast;
  const int64_t most = last ? std::max<int64_t>(1, kCalls / std::max<int64_t>(1, c)) : kNeighbours;
  return {n, c, inner, last, std::clamp<int64_t>(last ? n * inner : inner, 1, most)};
}

/// The sums of one part: term(i, c) returns what stored value i adds to the two sums of channel c.
template <typename Term>
struct PartOfChannel {
  ChannelParts p;
  Term term;
  TwoSums* sums;  ///< channels x parts

  Traffic traffic(int64_t n) const {
    Traffic all = term.traffic(p.n * p.channels * p.inner);
    return all += {0, n * int64_t(sizeof(TwoSums))};
  }
  CORTADO_HD void operator()(int64_t call) const {
    double a = 0, b = 0;
    const int64_t c = p.last ? call % p.channels : call / p.parts, part = p.last ? call / p.channels : call % p.parts;
    if (p.last)
      run(part * p.n * p.inner / p.parts * p.channels + c, (part + 1) * p.n * p.inner / p.parts * p.channels,
          p.channels, c, a, b);
    else
      for (int64_t image = 0; image < p.n; ++image) {
        const int64_t plane = (image * p.channels + c) * p.inner;
        run(plane + part, plane + p.inner, p.parts, c, a, b);
      }
    sums[c * p.parts + part] = {float(a), float(b)};
  }

  /// Sums the values at begin, begin + step, ... below end.
  CORTADO_HD void run(int64_t begin, int64_t end, int64_t step, int64_t c, double& a, double& b) const {
    constexpr int kShort = 32;
    while (begin < end) {
      TwoSums few{0, 0};
      for (int k = 0; k < kShort && begin < end; ++k, begin += step) {
        const TwoSums more = term(begin, c);
        few.a += more.a, few.b += more.b;
      }
      a += few.a, b += few.b;
    }
  }
};

struct SumOfParts {
  const TwoSums* sums;
  int64_t parts;
  bool second;
  Traffic traffic(int64_t n) const { return {n * int64_t(sizeof(TwoSums)), n / parts * int64_t(sizeof(float))}; }
  CORTADO_HD float operator()(int64_t c, int64_t part) const {
    const TwoSums& two = sums[c * parts + part];
    return second ? two.b : two.a;
  }
};

/// a[c] and b[c] = the sums over channel c, or accumulated; b may be null. `scratch` has parts.bytes().
template <typename Term>
void sum_channels(Context& context, const ChannelParts& parts, const Term& term, float* a, float* b, void* scratch,
                  bool add = false) {
  TwoSums* sums = static_cast<TwoSums*>(scratch);
  for_each(context, parts.channels * parts.parts, PartOfChannel<Term>{parts, term, sums});
  reduce_rows(context, parts.channels, parts.parts, SumOfParts{sums, parts.parts, false}, a, add);
  if (b) reduce_rows(context, parts.channels, parts.parts, SumOfParts{sums, parts.parts, true}, b, add);
}

}  // namespace cortado::kernels
