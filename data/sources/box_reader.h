#pragma once

#include "data/sources/datum_reader.h"

namespace cortado::data {

/// Converts Datums of YOLO's port to Caffe to samples and objects: an image file, and for each object six numbers in
/// float_data: class, difficult, and its box: centre and sides, in fractions of the image's.
class BoxReader : public DatumReader {
 public:
  using DatumReader::DatumReader;

  Sample open(const Record& record, Label& label) override;
  const std::vector<Object>& objects() const override { return objects_; }

 private:
  std::vector<Object> objects_;
};

}  // namespace cortado::data
