// A record of a dataset: a Datum or an AnnotatedDatum, and the image in it.
#include "data/formats/datum.h"

#include "data/image/image.h"
#include "data/image/jpeg.h"
#include "tests/fuzz/fuzzed.h"

void cortado::fuzz::fuzz(std::string_view input) {
  std::vector<float> floats;
  std::vector<data::Object> objects;
  expect_answer([&] { data::parse_annotated_datum(input, objects); });
  expect_answer([&] { data::datum_in(input); });
  expect_answer([&] {
    const data::DatumView datum = data::parse_datum(input, floats);
    uint64_t sum = 0;
    for (int64_t i = 0; i < datum.raw.count(); ++i)
      sum += datum.raw.bytes ? datum.raw.bytes[i] : uint64_t(datum.raw.floats[i] > 0);
    static volatile uint64_t read;
    read = sum;
    data::Image image;
    if (data::is_jpeg(datum.encoded)) data::ImageDecoder().decode(datum.encoded, data::ColorMode::kColor, image);
  });
}
