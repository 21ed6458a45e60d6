#pragma once

// Rows of the result before colour changes. If columns of the result correspond to columns of the source, the taps of
// all columns are computed once per sample. A row of the result is then a weighted sum of rows of the source
// (contiguous memory), from which every pixel gathers its neighbours by a table. Otherwise each pixel is computed
// separately (data/augment/read_moved_rows.cc).

#include <vector>

#include "data/augment/augment.h"

namespace cortado::data {

/// The neighbours of all columns: tap k of column x is at [k * width + x].
struct ColumnTaps {
  int taps = 0;
  int low = 0, high = 0;   ///< range of columns of the source that are read
  int begin = 0, end = 0;  ///< range of columns of the result that are not fill
  std::vector<int32_t> index, weight;

  /// `step` is the distance between neighbours in the source.
  void set(const AugmentParams& params, const Sample& sample, int step);
};

/// Reuses its memory from sample to sample; create one for each thread.
class RowReader {
 public:
  void begin(const Sample& sample, const AugmentParams& params);
  /// Writes row y of every channel to rows[c][0..out_width).
  void read(int y, float* const* rows);
  /// Writes the fill beyond the edges of the sample to row y again, after a change of all pixels.
  void refill(int y, float* const* rows) const;

 private:
  template <typename Sums, typename T>
  void read_aligned(const T* x, int y, float* const* rows, std::vector<typename Sums::Sum>& blended);
  void read_moved(int y, float* const* rows) const;
  void read_bilinear(int y, float* const* rows) const;
  template <typename Sums, typename T>
  void read_spots(const T* x, int y, float* const* rows) const;
  void fill(float* const* rows, int begin, int end) const;

  const Sample* sample_ = nullptr;
  const AugmentParams* params_ = nullptr;
  bool aligned_ = false;
  ColumnTaps columns_;
  std::vector<int32_t> byte_sums_;
  std::vector<float> float_sums_;
};

}  // namespace cortado::data
