#include <gtest/gtest.h>

#include <fstream>

#include "core/error.h"
#include "layers/registry.h"
#include "layers/roles.h"
#include "tests/layers/object_pictures.h"

namespace cortado::harness {
namespace {

class EvalData : public ObjectPictures {
 protected:
  EvalData() : ObjectPictures("eval_data") {}

  void write_two() const {
    write_picture("a.pgm", 10, 20, 22, 36);
    std::ofstream(folder_ / "b.pgm") << "P5 40 100 255\n" << std::string(4000, char(70));
    write_list(
        "# 0\na.pgm\n3\n48\n64\n1\n5 1 1 10 20 22 36\n0\n# 1\nb.pgm\n3\n100\n40\n2\n6 0 0 4 5 20 50\n7 0 0 1 1 2 "
        "2\n0\n");
  }
  std::string layer(const std::string& options, const std::string& transform = "") const {
    const std::string batch = options.find("batch_size") == std::string::npos ? " batch_size: 2" : "";
    return "type: 'EvalData' top: 'data' top: 'boxes' top: 'sizes' transform_param { " + transform +
           " } eval_data_param { source: '" + (folder_ / "list").string() + "' root_folder: '" + folder_.string() +
           "/' " + options + batch + " }";
  }
};

TEST_F(EvalData, ListsObjectsAndSizes) {
  write_two();
  LayerRun run(layer("", "mean_value: 1 scale: 2"), {}, {.backward = false});
  run.forward();
  // 48 x 64 pixels become 64 x 64, because 1.5 is rounded up, and 100 x 40 become 96 x 32.
  EXPECT_EQ(run.y()[0].shape, (Shape{2, 3, 96, 64}));
  EXPECT_EQ(run.y()[2].values, (std::vector<double>{64, 64, 96, 32}));
  EXPECT_EQ(run.y()[1].shape, (Shape{4, 8, 1, 1}));
  const double x = 32 / 40., y = 96 / 100., tall = 64 / 48.;
  const Array rows({4, 8, 1, 1}, {0,  10,    20 * tall, 22,     36 * tall, 5,  1,  1,  //
                                  1,  4 * x, 5 * y,     20 * x, 50 * y,    6,  0,  0,  //
                                  1,  x,     y,         2 * x,  2 * y,     7,  0,  0,  //
                                  -1, -1,    -1,        -1,     -1,        -1, -1, -1});
  expect_near(run.y()[1], rows, 1e-5, "objects");
  EXPECT_EQ(pixel(run.y()[0], 0, 0, 0), 2 * (kDark - 1));
  EXPECT_EQ(pixel(run.y()[0], 0, 64, 0), 0) << "padding";
  EXPECT_EQ(pixel(run.y()[0], 1, 95, 31), 2 * 69);
  EXPECT_EQ(pixel(run.y()[0], 1, 0, 32), 0) << "padding";
}

TEST_F(EvalData, BoxesMatchThePixels) {
  write_two();
  LayerRun run(layer("resize_width: 130 resize_height: 90"), {}, {.backward = false});
  run.forward();
  EXPECT_EQ(run.y()[0].shape, (Shape{2, 3, 96, 128}));
  EXPECT_EQ(run.y()[2].values, (std::vector<double>{96, 128, 96, 128}));
  expect_box_of_bright_pixels(run.y()[0], 0, box_of(&run.y()[1].values[0]), 1.5f);
}

TEST_F(EvalData, ResizesToTheShorterSide) {
  write_two();
  LayerRun run(layer("short_size: 64 long_size: 100"), {}, {.backward = false});
  run.forward();
  EXPECT_EQ(run.y()[0].shape, (Shape{2, 3, 96, 96}));
  // 48 x 64 would be 64 x 85; 100 x 40 would be 160 x 64, but sides are at most 100.
  EXPECT_EQ(run.y()[2].values, (std::vector<double>{64, 96, 96, 64}));
}

TEST_F(EvalData, ReadsImagesInOrderAndAgainAfterSeek) {
  write_two();
  const std::string text = layer("short_size: 64 long_size: 96 batch_size: 1");
  LayerRun run(text, {}, {.backward = false});
  std::vector<double> classes;
  for (int i = 0; i < 3; ++i) {
    run.forward();
    classes.push_back(run.y()[1][5]);
  }
  EXPECT_EQ(classes, (std::vector<double>{5, 6, 5}));
  dynamic_cast<DataCursor&>(run.layer()).seek(1);
  run.forward();
  EXPECT_EQ(run.y()[1][5], 6);
}

TEST_F(EvalData, KnowsShapesWithoutFiles) {
  const auto shapes = [&](const std::string& options) {
    const MadeLayer parsed("type: 'Silence' eval_data_param { source: 'nowhere' batch_size: 1 " + options + " }", "",
                           {});
    caffe::LayerParameter config = parsed.config;
    config.set_type("EvalData");
    for (const char* top : {"data", "boxes", "sizes"}) config.add_top(top);
    LayerOptions made{.config = config};
    made.open_data = false;
    return find_layer_type("EvalData")->make(made)->infer({}).y;
  };
  EXPECT_EQ(shapes("short_size: 600 long_size: 1000"), (std::vector<Shape>{{1, 3, 992, 992}, {-1}, {1, 2, 1, 1}}));
  EXPECT_EQ(shapes(""), (std::vector<Shape>{{-1}, {-1}, {1, 2, 1, 1}}));
}

TEST_F(EvalData, ReportsErrors) {
  const std::string own = "eval_data_param.";
  write_two();
  expect_field_error(layer("batch_size: 0"), {}, own + "batch_size", "it is 0");
  expect_field_error(layer("resize_width: 0 resize_height: 9"), {}, own + "resize_width", "it is 0");
  expect_field_error(layer("short_size: 9 long_size: 99999"), {}, own + "long_size", "99999");
  expect_field_error(layer("", "mirror: true"), {}, "transform_param.mirror", "resizes images itself");
  expect_field_error("type: 'EvalData' top: 'a' top: 'b' eval_data_param { batch_size: 1 }", {}, own + "source",
                     "window file is missing");
  write_list("# 0\nnone.pgm\n3\n48\n64\n0\n0\n");
  LayerRun run(layer("short_size: 64 long_size: 96"), {}, {.backward = false});
  EXPECT_THROW(run.forward(), Error);
}

}  // namespace
}  // namespace cortado::harness
