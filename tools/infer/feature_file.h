#pragma once

// Output files of `cortado features`, one for the rows of a blob. A file or database is written under another name, and
// renamed by commit(), so it is never incomplete.

#include <cstdint>
#include <memory>
#include <string>

#include "core/shape.h"

namespace cortado::tools {

class FeatureFile {
 public:
  virtual ~FeatureFile() = default;
  virtual void add(const float* values, int64_t rows) = 0;  ///< row major, each of the shape given to open()
  virtual void commit() = 0;                                ///< the last call
};

/// `format`: "lmdb" (for each row a Datum with float_data and a key %010d, as Caffe's extract_features writes them),
/// "npy" (a float array of rows x shape) or "hdf5" (the same as a dataset with the blob's name). `row` is the shape of
/// a row, `rows` their number. `replace`: whether to replace an existing database. Throws Error(kIo).
std::unique_ptr<FeatureFile> open_feature_file(const std::string& format, const std::string& path,
                                               const std::string& blob, const Shape& row, int64_t rows, bool replace);

}  // namespace cortado::tools
