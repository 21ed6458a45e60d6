#include "data/augment/read_rows.h"

#include <algorithm>

namespace cortado::data {

namespace {

/// out[i] = the column sum of `taps` rows of the source at i.
template <typename Sums, typename T>
void blend_rows(const T* const* rows, const int32_t* weights, int taps, int n, typename Sums::Sum* __restrict out) {
  using Sum = typename Sums::Sum;
  if (taps == 1) {
    const Sum w = Sums::weight(weights[0]);
    for (int i = 0; i < n; ++i) out[i] = Sums::column(w * Sum(rows[0][i]));
  } else if (taps == 2) {
    const Sum w0 = Sums::weight(weights[0]), w1 = Sums::weight(weights[1]);
    for (int i = 0; i < n; ++i) out[i] = Sums::column(w0 * Sum(rows[0][i]) + w1 * Sum(rows[1][i]));
  } else {
    std::fill(out, out + n, Sum(0));
    for (int k = 0; k < taps; ++k) {
      const Sum w = Sums::weight(weights[k]);
      for (int i = 0; i < n; ++i) out[i] += w * Sum(rows[k][i]);
    }
    for (int i = 0; i < n; ++i) out[i] = Sums::column(out[i]);
  }
}

/// out[x] = the sum over the taps of x; `taps` is a constant where it is small.
template <typename Sums, typename Taps>
void gather(const ColumnTaps& columns, Taps taps, int width, const typename Sums::Sum* x, float* __restrict out) {
  const int32_t *index = columns.index.data(), *weight = columns.weight.data();
  for (int i = 0; i < width; ++i) {
    typename Sums::Sum sum = 0;
    for (int k = 0; k < taps; ++k) sum += Sums::weight(weight[k * width + i]) * x[index[k * width + i]];
    out[i] = Sums::value(sum);
  }
}

template <typename Sums>
void gather(const ColumnTaps& columns, int width, const typename Sums::Sum* x, float* out) {
  switch (columns.taps) {
    case 1:
      return gather<Sums>(columns, std::integral_constant<int, 1>(), width, x, out);
    case 2:
      return gather<Sums>(columns, std::integral_constant<int, 2>(), width, x, out);
    case 4:
      return gather<Sums>(columns, std::integral_constant<int, 4>(), width, x, out);
    default:
      return gather<Sums>(columns, columns.taps, width, x, out);
  }
}

}  // namespace

void ColumnTaps::set(const AugmentParams& params, const Sample& sample, int step) {
  const int width = params.out_width;
  taps = params.across.kind == KernelKind::kNearest ? 1 : 2 * params.across.reach;
  index.resize(size_t(taps) * size_t(width));
  weight.assign(index.size(), 0);
  low = sample.width;
  high = 0;
  begin = width;
  end = 0;
  for (int x = 0; x < width; ++x) {
    int64_t place = column_place(params, x, 0);
    const bool inside = bring_inside(params.border, sample.width, place);
    const Taps at = inside ? taps_at(params.across, place) : Taps();
    for (int k = 0; k < taps; ++k) {
      const int column = inside ? clamped(at.first + k, sample.width) : -1;
      index[size_t(k * width + x)] = column;
      if (!inside) continue;
      weight[size_t(k * width + x)] = weight_of(params.across, at, k);
      low = std::min(low, column);
      high = std::max(high, column + 1);
    }
    if (inside) begin = std::min(begin, x), end = x + 1;
  }
  for (int32_t& at : index) at = at < 0 ? 0 : (at - low) * step;
}

void RowReader::begin(const Sample& sample, const AugmentParams& params) {
  sample_ = &sample;
  params_ = &params;
  aligned_ = params.map[1] == 0 && params.map[3] == 0;
  if (aligned_) columns_.set(params, sample, sample.interleaved ? sample.channels : 1);
}

void RowReader::fill(float* const* rows, int begin, int end) const {
  for (int c = 0; c < sample_->channels; ++c) std::fill(rows[c] + begin, rows[c] + end, params_->fill[c < 4 ? c : 3]);
}

template <typename Sums, typename T>
void RowReader::read_aligned(const T* x, int y, float* const* rows, std::vector<typename Sums::Sum>& blended) {
  const int width = params_->out_width;
  int64_t place = row_place(*params_, 0, y);
  if (columns_.end == 0 || !bring_inside(params_->border, sample_->height, place)) return fill(rows, 0, width);
  const Taps down = taps_at(params_->down, place);
  thread_local std::vector<const T*> from;
  thread_local std::vector<int32_t> weights;
  from.resize(size_t(down.count));
  weights.resize(size_t(down.count));
  const int step = sample_->interleaved ? sample_->channels : 1, planes = sample_->interleaved ? 1 : sample_->channels;
  const int n = (columns_.high - columns_.low) * step;
  blended.resize(size_t(n));
  for (int plane = 0; plane < planes; ++plane) {
    const T* first = x + int64_t(plane) * sample_->height * sample_->width + int64_t(columns_.low) * step;
    for (int k = 0; k < down.count; ++k) {
      from[size_t(k)] = first + int64_t(clamped(down.first + k, sample_->height)) * sample_->width * step;
      weights[size_t(k)] = weight_of(params_->down, down, k);
    }
    blend_rows<Sums>(from.data(), weights.data(), down.count, n, blended.data());
    for (int c = 0; c < step; ++c) gather<Sums>(columns_, width, blended.data() + c, rows[plane + c]);
  }
  fill(rows, 0, columns_.begin);
  fill(rows, columns_.end, width);
}

void RowReader::read(int y, float* const* rows) {
  if (!aligned_)
    read_moved(y, rows);
  else if (sample_->bytes != nullptr)
    read_aligned<ByteSums>(sample_->bytes, y, rows, byte_sums_);
  else
    read_aligned<FloatSums>(sample_->floats, y, rows, float_sums_);
}

void RowReader::refill(int y, float* const* rows) const {
  const int width = params_->out_width;
  if (params_->border != Border::kFill) return;
  for (int x = 0; x < width; ++x) {
    int64_t column = column_place(*params_, x, y), row = row_place(*params_, x, y);
    if (!bring_inside(Border::kFill, sample_->width, column) || !bring_inside(Border::kFill, sample_->height, row))
      fill(rows, x, x + 1);
  }
}

}  // namespace cortado::data
