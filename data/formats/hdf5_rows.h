#pragma once

// Reads rows of HDF5 files sequentially: rows of the datasets of every file, one row per sample. One file at a time is
// in memory as a whole. With shuffling, the order of files and the order of the rows in each file change every epoch.
// They depend on (seed, epoch, file) only, so a position is the whole state. Volumes can be cropped at the same place
// in all datasets; files may then have volumes of different sizes.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/shape.h"

namespace cortado::data {

struct Hdf5RowsOptions {
  std::string source;              ///< a text file: one path per line, relative to the working folder
  std::vector<std::string> names;  ///< of the datasets
  bool shuffle = false;
  uint64_t seed = 1;
  std::array<int64_t, 3> crop{};  ///< size of the crop of volumes, C x L x H x W; 0: no crop
  bool random_crop = false;       ///< at a random place, by (seed, position); otherwise in the centre
};

class Hdf5Rows {
 public:
  /// Reads the list and the first file. The other files must have the same shapes, unless there is a crop. Throws
  /// Error(kData/kIo).
  explicit Hdf5Rows(Hdf5RowsOptions options);

  const Shape& row_shape(size_t dataset) const { return row_shapes_[dataset]; }

  /// Copies the next row of each dataset to rows[i], row_shape(i).count() floats.
  void next(const std::vector<float*>& rows);

  /// Says `what` of the row that next() would copy: "train.h5: row 3: ...". The first row is 0.
  std::string about_next(const std::string& what);

  /// Number of rows read so far, over all epochs.
  uint64_t position() const { return position_; }
  /// Sets the next row. For a position other than 0, this opens every file to read its number of rows.
  void seek(uint64_t position);

 private:
  void begin_file();
  size_t row() const { return row_order_.empty() ? row_ : row_order_[row_]; }  ///< in the loaded file
  void load(size_t file);
  void take_shapes(const std::vector<Shape>& shapes, const std::string& path);
  bool crops() const { return options_.crop[0] > 0; }
  Shape cropped(const Shape& row, const Shape& first, const std::string& name, const std::string& path) const;
  void copy_part(size_t dataset, const float* row, float* to) const;
  uint64_t rows_of(size_t file);
  size_t file_at(uint64_t place) const;
  void step_over_file();

  Hdf5RowsOptions options_;
  std::vector<std::string> files_;
  std::vector<int64_t> rows_;               ///< per file; -1: unknown
  std::vector<Shape> row_shapes_;           ///< per dataset
  std::vector<Shape> whole_shapes_;         ///< per dataset in the loaded file, before cropping
  std::vector<std::vector<float>> values_;  ///< per dataset in the loaded file
  int64_t loaded_ = -1;
  uint64_t position_ = 0, epoch_ = 0, place_ = 0, row_ = 0;  ///< place_: of the file in the epoch's order
  std::vector<uint32_t> file_order_, row_order_;             ///< of the epoch, of the loaded file; empty: stored order
  bool begun_ = false;                                       ///< the file at place_ is loaded, with its row_order_
};

/// The paths in a list: one per line, trimmed. Caffe ends a path at any blank, so a line that is not the name of a file
/// is split at blanks. Throws Error(kData) if there are none, Error(kIo).
std::vector<std::string> read_path_list(const std::string& path);

}  // namespace cortado::data
