// The layer around the pipeline; the window source is tested in tests/data/window_source_test.cc.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "layers/registry.h"
#include "layers/roles.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

TEST(WindowData, ReadsBackgroundThenObjects) {
  const std::string folder =
      std::filesystem::temp_directory_path() / ("cortado_window_layer_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/0.pgm") << "P5 4 2 255\n" << std::string(4, char(50)) << std::string(4, char(90));
  std::ofstream(folder + "/windows") << "# 0\n" << folder << "/0.pgm\n1\n2\n4\n2\n5 0.8 0 0 3 0\n2 0.1 0 1 3 1\n";
  LayerRun run(
      "type: 'WindowData' top: 'data' top: 'label' transform_param { crop_size: 2 scale: 0.5 mean_value: 10 } "
      "window_data_param { source: '" +
          folder + "/windows' batch_size: 2 fg_fraction: 0.5 }",
      {}, {.backward = false});
  EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{2, 1, 2, 2}, {2}}));
  run.forward();
  expect_near(run.y()[0], Array({2, 1, 2, 2}, {40, 40, 40, 40, 20, 20, 20, 20}), 0, "data");
  expect_near(run.y()[1], Array({2}, {0, 5}), 0, "label");
  EXPECT_EQ(dynamic_cast<DataCursor&>(run.layer()).position(), 2u);
  std::filesystem::remove_all(folder);
}

TEST(WindowDataWithoutItsFiles, KnowsTheShapeFromTheCrop) {
  const MadeLayer parsed(
      "type: 'Silence' window_data_param { source: 'nowhere' batch_size: 4 } "
      "transform_param { crop_size: 9 }",
      "", {});
  caffe::LayerParameter config = parsed.config;
  config.set_type("WindowData");
  config.add_top("data");
  config.add_top("label");
  LayerOptions options{.config = config};
  options.open_data = false;
  EXPECT_EQ(find_layer_type("WindowData")->make(options)->infer({}).y, (std::vector<Shape>{{4, 3, 9, 9}, {4}}));
}

}  // namespace
}  // namespace cortado::harness
