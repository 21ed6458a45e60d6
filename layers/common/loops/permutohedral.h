#pragma once

// Gaussian filtering of values in a space of few dimensions, by the permutohedral lattice (Adams, Baek and Davis 2010):
// values are spread over the corners of the lattice's simplices, blurred along its axes and gathered. It approximates
// the sum over all pairs of exp(-|f_i - f_j|^2 / 2) v_j up to a factor, in linear time. On the host.

#include <cstdint>
#include <vector>

#include "core/context.h"

namespace cortado {

class Permutohedral {
 public:
  /// The largest supported feature.
  static float far_out(int dimensions);

  /// Sets n positions of `dimensions` (at most 8) features each. NaN counts as 0; larger features are limited to
  /// far_out().
  void place(const std::vector<float>& features, int dimensions);

  /// out = the filtered values of `channels` channels, both n x channels. `transposed`: by the transposed filter, which
  /// blurs along the axes in reverse order.
  void filter(Context& context, const float* values, int64_t channels, float* out, bool transposed = false);

 private:
  static constexpr int kMost = 8;

  struct Neighbours {
    int32_t before, after;
  };
  void place_one(const float* features);
  int32_t corner_of(const int16_t* key, bool adds);
  void grow_table();
  void find_neighbours();
  void blur(Context& context, int64_t channels, bool transposed);

  int dimensions_ = 0;
  int64_t places_ = 0;
  std::vector<int32_t> corners_;  ///< of each position, dimensions + 1
  std::vector<float> shares_;     ///< barycentric coordinates for each of these corners
  std::vector<int16_t> keys_;     ///< of each corner, `dimensions` coordinates
  std::vector<int32_t> table_;    ///< corners by hash, -1: none
  int32_t corner_count_ = 0;
  std::vector<Neighbours> neighbours_;  ///< of each corner along each axis; 0: none, else the corner's index + 1
  std::vector<float> lattice_, blurred_;
};

}  // namespace cortado
