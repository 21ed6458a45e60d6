#pragma once

// Where `cortado features` puts the rows of one blob. Each format's file or database is built aside and put in place by
// commit(), so there is never a part of one.

#include <cstdint>
#include <memory>
#include <string>

#include "core/shape.h"

namespace cortado::tools {

class FeatureFile {
 public:
  virtual ~FeatureFile() = default;
  virtual void add(const float* values, int64_t rows) = 0;  ///< row major, each of the shape given to open()
  virtual void commit() = 0;                                ///< once, last
};

/// `format`: "lmdb" (a Datum with float_data for each row, key %010d, as Caffe's extract_features writes them) "npy"
/// (one float array of rows x shape) or "hdf5" (the same as a dataset that is called like the blob). `row` is the shape
/// of one row, `rows` how many there will be; `replace` is about databases. Throws Error(kIo).
std::unique_ptr<FeatureFile> open_feature_file(const std::string& format, const std::string& path,
                                               const std::string& blob, const Shape& row, int64_t rows, bool replace);

}  // namespace cortado::tools
