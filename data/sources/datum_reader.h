#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "data/image/image.h"
#include "data/lmdb/lmdb.h"
#include "data/source.h"

namespace cortado::data {

/// Converts serialized Datums to samples; decodes an image file in the Datum.
class DatumReader : public SampleReader {
 public:
  explicit DatumReader(ColorMode mode = ColorMode::kAsStored) : mode_(mode) {}

  /// The whole sample. It is in the record or in this reader, valid until the next call. Throws SampleError.
  Sample read(const Record& record, Label& label);

  Sample open(const Record& record, Label& label) override;
  bool holds_floats() const override { return raw_.floats != nullptr; }
  bool decodes() const override { return raw_.floats == nullptr && raw_.bytes == nullptr; }
  std::string_view file() const override { return encoded_; }
  SamplePart read_part(const SourceWindow& window, bool may_view, const PixelPlace& place) override;
  Sample label_image() override;

 protected:
  const std::vector<float>& floats() const { return floats_; }  ///< float_data of the opened record

 private:
  const ColorMode mode_;
  ImageDecoder decoder_, label_decoder_;
  Image image_;
  std::vector<float> floats_;
  std::string_view encoded_;  ///< the image file in the opened record, or ""
  std::string_view labels_;   ///< the label image in it, or ""
  Image label_image_;
  Sample raw_;  ///< the opened record; without elements if it is an image file
};

/// Throws the Error(kData) with the dataset and the record.
[[noreturn]] void throw_bad_record(const Lmdb& database, std::string_view key, const SampleError& error);

}  // namespace cortado::data
