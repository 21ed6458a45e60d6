#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

const std::string kRandom =
    "type: 'DummyData' top: 'a' top: 'b' dummy_data_param { shape { dim: 2 dim: 50 } data_filler { type: 'gaussian' } "
    "}";

Arrays draw(const std::string& text, RunOptions options = {}) {
  options.backward = false;
  LayerRun run(text, {}, options);
  run.forward();
  return run.y();
}

TEST(DummyData, FillsWithConstants) {
  const Arrays y = draw(
      "type: 'DummyData' top: 'a' top: 'b' dummy_data_param { shape { dim: 3 } shape { dim: 1 dim: 2 }"
      " data_filler { value: 4 } data_filler { value: 5 } }");
  expect_near(y[0], Array({3}, 4.0), 0, "a");
  expect_near(y[1], Array({1, 2}, 5.0), 0, "b");
}

TEST(DummyData, IsZeroWithoutAFiller) {
  expect_near(draw("type: 'DummyData' dummy_data_param { shape { dim: 3 } }")[0], Array(Shape{3}), 0, "y");
}

TEST(DummyData, AcceptsTheOldFormOfShapes) {
  const MadeLayer made(
      "type: 'DummyData' top: 'a' top: 'b' dummy_data_param { num: 2 num: 3 channels: 4 height: 5 width: 6 }", "", {});
  EXPECT_EQ(made.shapes.y, (std::vector<Shape>{{2, 4, 5, 6}, {3, 4, 5, 6}}));
}

TEST(DummyData, DrawsNewValuesForEachPassAndTop) {
  const Arrays first = draw(kRandom), again = draw(kRandom), next = draw(kRandom, {.pass = 1}),
               other = draw(kRandom, {.seed = 2});
  EXPECT_TRUE(same_bits(first[0], again[0]));
  EXPECT_FALSE(same_bits(first[0], first[1]));
  EXPECT_FALSE(same_bits(first[0], next[0]));
  EXPECT_FALSE(same_bits(first[0], other[0]));
}

TEST(DummyData, DrawsTheSameValuesInEveryStorageAndOnEveryDevice) {
  std::vector<Device> devices = tested_devices();
  devices.push_back({});
  for (const char* filler : {"type: 'uniform'", "type: 'gaussian'", "type: 'gaussian' sparse: 2", "type: 'xavier'",
                             "type: 'positive_unitball'", "type: 'bilinear'", "value: 2"}) {
    const std::string layer =
        "type: 'DummyData' dummy_data_param { shape { dim: 5 dim: 70 dim: 9 dim: 9 } data_filler { " +
        std::string(filler) + " } }";
    const Array plain = draw(layer)[0];
    for (const Device& device : devices)
      for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast})
        for (const DType dtype : {DType::kF32, DType::kBF16}) {
          SCOPED_TRACE(filler + (" on " + device.str()) + " " + name_of(layout) + " " + name_of(dtype));
          const Array y = draw(layer, {.layout = layout, .dtype = dtype, .device = device})[0];
          expect_near(y, plain, dtype == DType::kF32 ? 1e-6 : 0.01, "y");
        }
  }
}

TEST(DummyData, CountsItsEntries) {
  const std::string three = "type: 'DummyData' top: 'a' top: 'b' top: 'c' dummy_data_param { ";
  expect_field_error(three + "}", {}, "dummy_data_param.shape[0]", "0 entries for 3 tops");
  expect_field_error(three + "shape {} data_filler {} data_filler {} }", {}, "dummy_data_param.data_filler[0]",
                     "2 entries for 3 tops");
  expect_field_error(three + "num: 1 num: 2 channels: 1 height: 1 width: 1 }", {}, "dummy_data_param.num[0]",
                     "2 entries");
  expect_field_error(three + "num: 1 height: 1 width: 1 }", {}, "dummy_data_param.channels[0]", "0 entries");
  expect_field_error(three + "num: 1 shape {} }", {}, "dummy_data_param.num[0]", "both");
  expect_field_error(three + "shape {} data_filler { type: 'uniforn' } }", {}, "dummy_data_param.data_filler[0].type",
                     "uniforn");
}

}  // namespace
}  // namespace cortado::harness
