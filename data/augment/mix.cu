#include "core/error.h"
#include "core/half.h"
#include "core/loops/divisor.h"
#include "core/loops/for_each.h"
#include "data/augment/mix.h"

namespace cortado::data {

namespace {

/// Mixes pixel `i` of a pair, in both samples and one channel.
template <typename T>
struct MixPixel {
  const MixParams* params;
  int64_t n;
  Divisor counts, channels, areas, widths;
  bool channels_last;
  T* x;

  CORTADO_HD void operator()(int64_t i) const {
    const int64_t count = counts.value(), pair = counts.of(i), at = i - pair * count;
    const int64_t pixel = channels_last ? channels.of(at) : areas.rest(at);
    const MixParams& mix = params[pair];
    T &first = x[pair * count + at], &second = x[(n - 1 - pair) * count + at];
    const float a = first, b = second;
    if (mix.height > 0) {
      const int64_t row = widths.of(pixel) - mix.top, column = widths.rest(pixel) - mix.left;
      if (row < 0 || row >= mix.height || column < 0 || column >= mix.width) return;
      first = T(b);
      second = T(a);
    } else if (mix.share < 1.0f) {
      first = T(mix.share * a + (1.0f - mix.share) * b);
      second = T(mix.share * b + (1.0f - mix.share) * a);
    }
  }
};

struct MixLabel {
  const MixParams* params;
  const float* labels;
  int64_t n, classes;
  float* shares;

  CORTADO_HD void operator()(int64_t i) const {
    const int64_t sample = i / classes, other = n - 1 - sample, pair = sample < other ? sample : other;
    const float k = float(i % classes), share = sample == other ? 1.0f : params[pair].share;
    shares[i] = (labels[sample] == k ? share : 0.0f) + (labels[other] == k ? 1.0f - share : 0.0f);
  }
};

}  // namespace

void mix_batch(Context& context, const MixParams* params, const Tensor& x, const float* labels, int classes,
               float* shares) {
  const Shape& shape = x.shape();
  if (x.spec.layout == Layout::kBlocked16) throw_internal("a batch is mixed in plain or channels-last storage");
  const int64_t n = shape[0], pairs = mix_pairs(int(n));
  with_float_type(x.spec.dtype, [&](auto value) {
    using T = decltype(value);
    for_each(context, pairs * shape.count(1),
             MixPixel<T>{params, n, Divisor(shape.count(1)), Divisor(shape[1]), Divisor(shape.count(2)),
                         Divisor(shape[3]), x.spec.layout == Layout::kChannelsLast, static_cast<T*>(x.data)});
  });
  for_each(context, n * classes, MixLabel{params, labels, n, classes, shares});
}

}  // namespace cortado::data
