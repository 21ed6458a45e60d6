#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

Array padded(const Array& x, int64_t begin, int64_t end) {
  Array y(Shape{x.shape[0], x.shape[1], x.shape[2] + begin + end, x.shape[3] + begin + end});
  for (int64_t plane = 0; plane < x.shape.count(0, 2); ++plane)
    for (int64_t h = 0; h < x.shape[2]; ++h)
      for (int64_t w = 0; w < x.shape[3]; ++w) {
        const int64_t to_h = h + begin, to_w = w + begin;
        if (to_h < 0 || to_h >= y.shape[2] || to_w < 0 || to_w >= y.shape[3]) continue;
        y[size_t((plane * y.shape[2] + to_h) * y.shape[3] + to_w)] =
            x[size_t((plane * x.shape[2] + h) * x.shape[3] + w)];
      }
  return y;
}

void check(const std::string& options, int64_t begin, int64_t end) {
  SCOPED_TRACE(options);
  check_layer({.layer = "type: 'Padding' padding_param { " + options + " }",
               .x = {random({2, 3, 4, 5}, 1)},
               .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {padded(x[0], begin, end)}; }});
}

TEST(Padding, PadsWithZeros) { check("pad_beg: 1 pad_end: 2", 1, 2); }
TEST(Padding, Crops) { check("pad_beg: -1 pad_end: -2", -1, -2); }
TEST(Padding, PadsAndCrops) {
  check("pad_beg: 2 pad_end: -3", 2, -3);
  check("pad_beg: -3 pad_end: 1", -3, 1);
  check("pad_beg: 5 pad_end: -8", 5, -8);
}
TEST(Padding, AcceptsEmptyInputs) { check("", 0, 0); }

TEST(Padding, ReportsErrors) {
  const auto refuses = [](const std::string& options, const std::string& field, const std::string& words,
                          const Shape& x) {
    expect_field_error("type: 'Padding' padding_param { " + options + " }", {x}, field, words);
  };
  refuses("pad_beg: -2 pad_end: -2", "padding_param.pad_beg", "4 + -2 + -2 leaves nothing of axis 2", {1, 2, 4, 9});
  refuses("pad_end: -5", "padding_param.pad_end", "leaves nothing of axis 3", {1, 2, 9, 5});
  refuses("pad_end: 2147483647 pad_beg: 2147483647", "padding_param.pad_beg", "", {4, 2, 9, 5});
  refuses("pad_end: 1", "bottom[0]", "needs N x C x H x W", {1, 2, 9});
}

}  // namespace
}  // namespace cortado::harness
