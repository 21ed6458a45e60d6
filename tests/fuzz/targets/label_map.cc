// Label maps: those of classes and those of the pixels of label images.
#include <cstdlib>

#include "data/formats/labels.h"
#include "tests/fuzz/fuzzed.h"

void cortado::fuzz::fuzz(std::string_view input) {
  using namespace data;
  const std::string path = FuzzedFile(input).path();
  expect_answer([&] {
    const caffe::LabelMap map = read_label_map(path);
    if (shown_names(map).size() != size_t(map.item_size())) std::abort();
  });
  expect_answer([&] {
    const PixelClasses classes = read_pixel_classes(path);
    for (const int of : classes.of)
      if (of < -1 || of >= classes.count) std::abort();
  });
  expect_answer([&] {
    const std::vector<std::string> names = read_labels(path);
    if (names != read_labels(FuzzedFile(labels_text(names)).path())) std::abort();
  });
}
