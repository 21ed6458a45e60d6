#pragma once

// Rows of HDF5 files, one after the other: of every file's datasets, which have a row each for every sample. One file
// at a time lies in memory, wholly. Where rows are shuffled, the order of the files and that of the rows in each are
// new every epoch, and functions of (seed, epoch, file) alone: so a position says everything. Of volumes a part may be
// taken, at the same place of all datasets; then files may have volumes of several sizes.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/shape.h"

namespace cortado::data {

struct Hdf5RowsOptions {
  std::string source;              ///< a text file: one path a line, relative to the working folder
  std::vector<std::string> names;  ///< of the datasets
  bool shuffle = false;
  uint64_t seed = 1;
  std::array<int64_t, 3> crop{};  ///< of volumes, C x L x H x W, a part of this size is taken; 0: all of it
  bool random_crop = false;       ///< anywhere, by (seed, position); else in the middle
};

class Hdf5Rows {
 public:
  /// Reads the list and the first file, whose shapes the others must have, unless a part is taken. Throws
  /// Error(kData/kIo).
  explicit Hdf5Rows(Hdf5RowsOptions options);

  const Shape& row_shape(size_t dataset) const { return row_shapes_[dataset]; }

  /// Copies the next row of each dataset to rows[i], row_shape(i).count() floats.
  void next(const std::vector<float*>& rows);

  /// Rows given so far, over all epochs.
  uint64_t position() const { return position_; }
  /// The next row is this one. Anywhere but at the beginning that takes the number of rows of all files: each is looked
  /// into.
  void seek(uint64_t position);

 private:
  void begin_file();
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
  std::vector<int64_t> rows_;               ///< of each file, -1: not known yet
  std::vector<Shape> row_shapes_;           ///< of each dataset
  std::vector<Shape> whole_shapes_;         ///< the same in the file that is loaded, before a part is taken
  std::vector<std::vector<float>> values_;  ///< of each dataset, in the file that is loaded
  int64_t loaded_ = -1;
  uint64_t position_ = 0, epoch_ = 0, place_ = 0, row_ = 0;  ///< place_: of the file in the epoch's order
  std::vector<uint32_t> file_order_, row_order_;             ///< of the epoch, of the loaded file; empty: as they lie
  bool begun_ = false;                                       ///< the file at place_ is loaded and row_order_ is its own
};

/// The paths in a list: one a line, without blanks around them. As Caffe takes every blank for the end of a path, a
/// line that is no file's name is taken apart. Throws Error(kData) where there are none, Error(kIo).
std::vector<std::string> read_path_list(const std::string& path);

}  // namespace cortado::data
