#include "layers/common/loops/permutohedral.h"

#include <algorithm>
#include <cmath>

#include "core/threads/threads.h"

namespace cortado {

namespace {

constexpr float kMaxCoordinate = 30000;  ///< limit of the lattice's points, which have 16 bits

uint64_t hash_of(const int16_t* key, int n) {
  uint64_t hash = 0;
  for (int i = 0; i < n; ++i) hash = (hash + uint16_t(key[i])) * 0x9E3779B97F4A7C15ull;
  return hash ^ hash >> 29;
}

}  // namespace

float Permutohedral::far_out(int dimensions) {
  return kMaxCoordinate / (float(dimensions + 1) * std::sqrt(2.0f / 3 * float(dimensions)));
}

void Permutohedral::grow_table() {
  table_.assign(std::max<size_t>(table_.size() * 2, 1024), -1);
  for (int32_t corner = 0; corner < corner_count_; ++corner) {
    size_t at = size_t(hash_of(&keys_[size_t(corner) * size_t(dimensions_)], dimensions_)) & (table_.size() - 1);
    while (table_[at] >= 0) at = (at + 1) & (table_.size() - 1);
    table_[at] = corner;
  }
}

/// The index of the corner with these coordinates. If it is new, adds it or returns -1.
int32_t Permutohedral::corner_of(const int16_t* key, bool adds) {
  if (adds && size_t(corner_count_) * 2 >= table_.size()) grow_table();
  size_t at = size_t(hash_of(key, dimensions_)) & (table_.size() - 1);
  for (; table_[at] >= 0; at = (at + 1) & (table_.size() - 1))
    if (std::equal(key, key + dimensions_, &keys_[size_t(table_[at]) * size_t(dimensions_)])) return table_[at];
  if (!adds) return -1;
  keys_.insert(keys_.end(), key, key + dimensions_);
  return table_[at] = corner_count_++;
}

/// Projects a position to the hyperplane of the lattice; finds the enclosing simplex and the barycentric coordinates.
void Permutohedral::place_one(const float* features) {
  const int d = dimensions_, n = d + 1;
  const float far = far_out(d);
  float lifted[kMost + 1], sum = 0;
  for (int i = d; i > 0; --i) {
    const float f = features[i - 1], fits = f == f ? std::clamp(f, -far, far) : 0;
    const float scaled = fits * float(n) * std::sqrt(2.0f / 3) / std::sqrt(float(i) * float(i + 1));
    lifted[i] = sum - float(i) * scaled;
    sum += scaled;
  }
  lifted[0] = sum;
  int zero[kMost + 1], rank[kMost + 1] = {}, excess = 0;  // the nearest point whose coordinates are multiples of n
  for (int i = 0; i < n; ++i) {
    const int rounded = int(std::lround(lifted[i] / float(n)));
    zero[i] = rounded * n;
    excess += rounded;
  }
  for (int i = 0; i < d; ++i)
    for (int j = i + 1; j < n; ++j) ++rank[lifted[i] - float(zero[i]) < lifted[j] - float(zero[j]) ? i : j];
  for (int i = 0; i < n; ++i) {  // move back to the plane of coordinates whose sum is 0
    rank[i] += excess;
    const int turn = rank[i] < 0 ? n : rank[i] > d ? -n : 0;
    rank[i] += turn;
    zero[i] += turn;
  }
  float share[kMost + 2] = {};
  for (int i = 0; i < n; ++i) {
    const float delta = (lifted[i] - float(zero[i])) / float(n);
    share[d - rank[i]] += delta;
    share[d - rank[i] + 1] -= delta;
  }
  share[0] += 1 + share[n];
  for (int corner = 0; corner < n; ++corner) {
    int16_t key[kMost];
    for (int i = 0; i < d; ++i) key[i] = int16_t(zero[i] + (rank[i] <= d - corner ? corner : corner - n));
    corners_.push_back(corner_of(key, true));
    shares_.push_back(share[corner]);
  }
}

void Permutohedral::find_neighbours() {
  const int d = dimensions_;
  neighbours_.resize(size_t(corner_count_) * size_t(d + 1));
  for (int axis = 0; axis <= d; ++axis)
    for (int32_t corner = 0; corner < corner_count_; ++corner) {
      int16_t before[kMost], after[kMost];
      for (int i = 0; i < d; ++i) {
        const int at = keys_[size_t(corner) * size_t(d) + size_t(i)];
        before[i] = int16_t(i == axis ? at + d : at - 1);
        after[i] = int16_t(i == axis ? at - d : at + 1);
      }
      neighbours_[size_t(axis) * size_t(corner_count_) + size_t(corner)] = {corner_of(before, false) + 1,
                                                                            corner_of(after, false) + 1};
    }
}

void Permutohedral::place(const std::vector<float>& features, int dimensions) {
  dimensions_ = dimensions;
  places_ = int64_t(features.size()) / dimensions;
  corners_.clear();
  shares_.clear();
  keys_.clear();
  corner_count_ = 0;
  std::fill(table_.begin(), table_.end(), -1);
  for (int64_t i = 0; i < places_; ++i) place_one(&features[size_t(i * dimensions)]);
  find_neighbours();
}

void Permutohedral::blur(Context& context, int64_t channels, bool transposed) {
  for (int step = 0; step <= dimensions_; ++step) {
    const int axis = transposed ? dimensions_ - step : step;
    const Neighbours* neighbours = &neighbours_[size_t(axis) * size_t(corner_count_)];
    parallel_ranges(context, corner_count_, 256, [&](int64_t begin, int64_t end) {
      for (int64_t corner = begin; corner < end; ++corner) {
        const float *own = &lattice_[size_t((corner + 1) * channels)],
                    *before = &lattice_[size_t(neighbours[corner].before * channels)],
                    *after = &lattice_[size_t(neighbours[corner].after * channels)];
        float* to = &blurred_[size_t((corner + 1) * channels)];
        for (int64_t c = 0; c < channels; ++c) to[c] = own[c] + 0.5f * (before[c] + after[c]);
      }
    });
    std::swap(lattice_, blurred_);
  }
}

void Permutohedral::filter(Context& context, const float* values, int64_t channels, float* out, bool transposed) {
  const int64_t n = dimensions_ + 1;
  lattice_.assign(size_t((corner_count_ + 1) * channels), 0.0f);  // corner 0 means "none": it stays 0
  blurred_.assign(lattice_.size(), 0.0f);
  parallel_ranges(context, channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < places_ * n; ++i)
      for (int64_t c = begin; c < end; ++c)
        lattice_[size_t((corners_[size_t(i)] + 1) * channels + c)] += shares_[size_t(i)] * values[i / n * channels + c];
  });
  blur(context, channels, transposed);
  const float factor = 1 / (1 + std::exp2(-float(dimensions_)));
  parallel_ranges(context, places_, 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t c = 0; c < channels; ++c) {
        float sum = 0;
        for (int64_t k = i * n; k < (i + 1) * n; ++k)
          sum += shares_[size_t(k)] * lattice_[size_t((corners_[size_t(k)] + 1) * channels + c)];
        out[i * channels + c] = sum * factor;
      }
  });
}

}  // namespace cortado
