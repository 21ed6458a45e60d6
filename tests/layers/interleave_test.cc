// The pass that creates an Interleave from a Concat and a ShuffleChannel is tested in tests/graph/interleave_test.cc.

#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// Channel k of part p is channel k parts + p.
Array dealt_out(const Arrays& x) {
  Shape shape = x[0].shape;
  const int64_t parts = int64_t(x.size()), channels = shape[1], inner = shape.count(2);
  shape[1] *= parts;
  Array y(shape);
  for (int64_t p = 0; p < parts; ++p)
    for (int64_t i = 0; i < int64_t(x[0].size()); ++i) {
      const int64_t row = i / inner, n = row / channels, k = row % channels;
      y[size_t(((n * channels + k) * parts + p) * inner + i % inner)] = x[size_t(p)][size_t(i)];
    }
  return y;
}

TEST(Interleave, InterleavesTheChannelsOfItsBottoms) {
  for (const Shape& part : {Shape{2, 10, 3, 2}, Shape{2, 3}, Shape{1, 4, 5}})
    for (const size_t parts : {2u, 3u}) {
      LayerCase layer_case{.layer = "type: 'Interleave'", .x = {}, .reference = [](const Arrays& x, const Arrays&) {
                             return Arrays{dealt_out(x)};
                           }};
      for (size_t p = 0; p < parts; ++p) layer_case.x.push_back(random(part, p + 1));
      layer_case.channels_last = true;
      check_layer(layer_case);
    }
}

TEST(Interleave, IsAConcatAndAShuffle) {
  const Arrays x = {random({2, 6, 3, 2}, 1), random({2, 6, 3, 2}, 2), random({2, 6, 3, 2}, 3)};
  LayerRun concat("type: 'Concat'", x), interleave("type: 'Interleave'", x);
  concat.forward();
  interleave.forward();
  LayerRun shuffle("type: 'ShuffleChannel' shuffle_channel_param { group: 3 }", {concat.y()[0]});
  shuffle.forward();
  EXPECT_TRUE(same_bits(interleave.y()[0], shuffle.y()[0]));
}

TEST(Interleave, RejectsDifferentShapes) {
  expect_field_error("type: 'Interleave'", {{2, 6, 2}, {2, 4, 2}}, "bottom[1]", "2x4x2");
  expect_field_error("type: 'Interleave'", {{6}, {6}}, "bottom[0]", "needs at least 2");
}

}  // namespace
}  // namespace cortado::harness
