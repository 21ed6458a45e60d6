// Lists of images, of windows and of labels; mean files; MAT-files.
#include "data/formats/labels.h"
#include "data/formats/mean_file.h"
#include "data/sources/image_list.h"
#include "data/sources/window_file.h"
#include "formats/mat_file.h"
#include "tests/fuzz/fuzzed.h"

void cortado::fuzz::fuzz(std::string_view input) {
  using namespace data;
  const std::string path = FuzzedFile(input).path();
  expect_answer([&] { ImageList list(path, 1 + int(input.size() % 3)); });
  expect_answer([&] { read_window_file(path, 0.5f, 0.5f); });
  expect_answer([&] { read_labels(path); });
  expect_answer([&] { read_mean_file(path); });
  expect_answer([&] { parse_mat(input, "label", "file"); });
}
