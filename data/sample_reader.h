#pragma once

#include <cstdint>
#include <vector>

#include "data/image.h"
#include "data/lmdb.h"
#include "data/sample.h"

namespace cortado::data {

/// Turns records into samples: parses the Datum and decodes the image in it, if it is one. Keeps its buffers, so one
/// for each thread, and nothing is allocated once they have grown.
class SampleReader {
 public:
  /// The sample lies in the record or in this reader, until the next read(). Throws SampleError.
  Sample read(const Record& record, ColorMode mode, int32_t& label);

 private:
  ImageDecoder decoder_;
  Image image_;
  std::vector<float> floats_;
};

/// The Error(kData) that names the dataset and the record.
[[noreturn]] void throw_bad_record(const Lmdb& database, std::string_view key, const SampleError& error);

}  // namespace cortado::data
