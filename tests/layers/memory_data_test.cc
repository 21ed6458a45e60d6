#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

const std::string kSizes = "batch_size: 2 channels: 3 height: 4 width: 5";

TEST(MemoryData, HasTheGivenShapes) {
  const auto tops = [](const std::string& names) {
    return MadeLayer("type: 'MemoryData' " + names + " memory_data_param { " + kSizes + " }", "", {}).shapes.y;
  };
  EXPECT_EQ(tops("top: 'data' top: 'label'"), (std::vector<Shape>{{2, 3, 4, 5}, {2}}));
  EXPECT_EQ(tops("top: 'data' top: 'label' top: 'sizes'"), (std::vector<Shape>{{2, 3, 4, 5}, {2}, {2, 1, 1, 2}}));
  EXPECT_EQ(tops("top: 'data'"), (std::vector<Shape>{{2, 3, 4, 5}}));
}

/// Of OpenCL Caffe.
TEST(MemoryData, HasAnyNumberOfAxes) {
  const auto layer = [](const std::string& options) {
    return "type: 'MemoryData' top: 'data' top: 'label' memory_data_param { " + options + " }";
  };
  EXPECT_EQ(MadeLayer(layer("dim: 2 dim: 1 dim: 4 dim: 5 dim: 6"), "", {}).shapes.y,
            (std::vector<Shape>{{2, 1, 4, 5, 6}, {2}}));
  expect_field_error(layer("dim: 2 dim: 0"), {}, "memory_data_param.dim[1]", "the extent is 0");
  expect_field_error(layer("dim: [2, 3] channels: 3"), {}, "memory_data_param.channels", "both set");
}

TEST(MemoryData, ReportsMissingData) {
  LayerRun run("type: 'MemoryData' name: 'mem' top: 'data' memory_data_param { " + kSizes + " }", {},
               {.backward = false});
  try {
    run.forward();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    const std::string text = error.what();
    EXPECT_NE(text.find("layer 'mem' (MemoryData) has no data"), std::string::npos) << text;
    EXPECT_NE(text.find("cortado infer"), std::string::npos) << text;
  }
}

TEST(MemoryData, RequiresAllSizes) {
  for (const std::string field : {"batch_size", "channels", "height", "width"}) {
    std::string sizes = kSizes;
    sizes.replace(sizes.find(field) + field.size() + 2, 1, "0");
    expect_field_error("type: 'MemoryData' top: 'data' memory_data_param { " + sizes + " }", {},
                       "memory_data_param." + field, "missing or 0");
  }
  expect_field_error(
      "type: 'MemoryData' top: 'data' memory_data_param { batch_size: 4000000000 channels: 4000000000 height: 9 width: "
      "9 }",
      {}, "memory_data_param.batch_size", "overflows");
}

}  // namespace
}  // namespace cortado::harness
