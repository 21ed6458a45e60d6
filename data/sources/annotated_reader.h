#pragma once

#include "data/formats/datum.h"
#include "data/sources/datum_reader.h"

namespace cortado::data {

/// Converts serialized AnnotatedDatums to samples and objects.
class AnnotatedReader : public DatumReader {
 public:
  using DatumReader::DatumReader;

  Sample open(const Record& record, Label& label) override {
    Record image = record;
    image.value = parse_annotated_datum(record.value, objects_);
    return DatumReader::open(image, label);
  }
  const std::vector<Object>& objects() const override { return objects_; }

 private:
  std::vector<Object> objects_;
};

}  // namespace cortado::data
