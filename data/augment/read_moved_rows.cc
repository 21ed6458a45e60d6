// Rows of images that were rotated or sheared: every pixel has its own position on both axes. For interpolation between
// four neighbours the weights are computed from the position's fractional bits by a few integer operations. Wider
// kernels are evaluated once per axis of a pixel, for all channels. The results are those of geometry_at(), but faster.
#include <algorithm>

#include "data/augment/read_rows.h"

namespace cortado::data {

namespace {

bool is_plain_linear(const Kernel& kernel) { return kernel.kind == KernelKind::kLinear && kernel.reach == 1; }

/// The results of taps_at() and weight_of() for a tent of one pixel, without a division: the smaller weight is rounded.
struct ReadMovedRowsPair {
  int32_t low, high;  ///< pixels, clamped to the edges
  int32_t low_weight, high_weight;
};

ReadMovedRowsPair pair_at(int64_t place, int size) {
  const int32_t first = int32_t(place >> 32), fraction = int32_t(uint32_t(place) >> 8), one = 1 << 24;
  const int32_t lesser = ((fraction < one / 2 ? fraction : one - fraction) + 512) >> 10, rest = kWeightOne - lesser;
  const bool low_is_nearer = fraction < one / 2;
  return {clamped(first, size), clamped(first + 1, size), low_is_nearer ? rest : lesser, low_is_nearer ? lesser : rest};
}

int32_t column_sum(const uint8_t* low, const uint8_t* high, const ReadMovedRowsPair& down, int64_t at) {
  return rounded_column(down.low_weight * low[at] + down.high_weight * high[at]);
}

/// The weights along one axis of a spot.
template <typename Sums>
const typename Sums::Sum* weights_of(const Kernel& kernel, const Taps& taps, std::vector<typename Sums::Sum>& weights) {
  weights.resize(size_t(taps.count));
  for (int k = 0; k < taps.count; ++k) weights[size_t(k)] = Sums::weight(weight_of(kernel, taps, k));
  return weights.data();
}

}  // namespace

void RowReader::read_bilinear(int y, float* const* rows) const {
  const Sample& sample = *sample_;
  const int64_t step = sample.interleaved ? sample.channels : 1, row_step = sample.width * step;
  const int64_t channel_step = sample.interleaved ? 1 : int64_t(sample.height) * sample.width;
  for (int x = 0; x < params_->out_width; ++x) {
    int64_t column = column_place(*params_, x, y), row = row_place(*params_, x, y);
    if (!bring_inside(params_->border, sample.width, column) || !bring_inside(params_->border, sample.height, row)) {
      fill(rows, x, x + 1);
      continue;
    }
    const ReadMovedRowsPair across = pair_at(column, sample.width), down = pair_at(row, sample.height);
    const uint8_t *low = sample.bytes + down.low * row_step, *high = sample.bytes + down.high * row_step;
    for (int c = 0; c < sample.channels; ++c, low += channel_step, high += channel_step) {
      const int32_t sum = across.low_weight * column_sum(low, high, down, across.low * step) +
                          across.high_weight * column_sum(low, high, down, across.high * step);
      rows[c][x] = ByteSums::value(sum);
    }
  }
}

template <typename Sums, typename T>
void RowReader::read_spots(const T* x, int y, float* const* rows) const {
  thread_local std::vector<typename Sums::Sum> across_memory, down_memory;
  const Sample& sample = *sample_;
  const int64_t step = sample.interleaved ? sample.channels : 1, row_step = sample.width * step;
  const int64_t channel_step = sample.interleaved ? 1 : int64_t(sample.height) * sample.width;
  for (int i = 0; i < params_->out_width; ++i) {
    const Spot spot = spot_at(*params_, sample, i, y);
    if (spot.fill) {
      fill(rows, i, i + 1);
      continue;
    }
    const auto* across = weights_of<Sums>(params_->across, spot.across, across_memory);
    const auto* down = weights_of<Sums>(params_->down, spot.down, down_memory);
    for (int c = 0; c < sample.channels; ++c) {
      typename Sums::Sum sum = 0;
      for (int k = 0; k < spot.across.count; ++k) {
        const T* from = x + c * channel_step + clamped(spot.across.first + k, sample.width) * step;
        typename Sums::Sum column = 0;
        for (int j = 0; j < spot.down.count; ++j)
          column += down[j] * typename Sums::Sum(from[clamped(spot.down.first + j, sample.height) * row_step]);
        sum += across[k] * Sums::column(column);
      }
      rows[c][i] = Sums::value(sum);
    }
  }
}

void RowReader::read_moved(int y, float* const* rows) const {
  if (sample_->bytes == nullptr)
    read_spots<FloatSums>(sample_->floats, y, rows);
  else if (is_plain_linear(params_->across) && is_plain_linear(params_->down))
    read_bilinear(y, rows);
  else
    read_spots<ByteSums>(sample_->bytes, y, rows);
}

}  // namespace cortado::data
