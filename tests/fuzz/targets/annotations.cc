// Boxes of images: PASCAL VOC's XML, COCO's JSON, lines of text.
#include "data/formats/annotations.h"

#include "tests/fuzz/fuzzed.h"

void cortado::fuzz::fuzz(std::string_view input) {
  expect_answer([&] { data::parse_voc(input, [] { return data::ImageExtent{100, 100}; }); });
  expect_answer([&] { data::parse_coco(input); });
  expect_answer([&] { data::parse_box_lines(input, {100, 100}); });
}
