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
  /// The whole sample. It lies in the record or in this reader, until the next call. Throws SampleError.
  Sample read(const Record& record, ColorMode mode, int32_t& label);

  /// The same in two steps: open() tells how large the sample is, then read_part(), while the record is there, gives at
  /// least the window of it. Elements come into `place`'s memory, but where `may_view` those that lie in the record are
  /// left there. Throws SampleError.
  Sample open(const Record& record, ColorMode mode, int32_t& label);
  bool holds_floats() const { return raw_.floats != nullptr; }  ///< what open() opened
  SamplePart read_part(const SourceWindow& window, bool may_view, const PixelPlace& place);

 private:
  ImageDecoder decoder_;
  Image image_;
  std::vector<float> floats_;
  Sample raw_;  ///< what open() opened; without elements where it is an image file
};

/// The Error(kData) that names the dataset and the record.
[[noreturn]] void throw_bad_record(const Lmdb& database, std::string_view key, const SampleError& error);

}  // namespace cortado::data
