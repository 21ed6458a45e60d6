// The layer around the pipeline; the image source is tested in tests/data/image_source_test.cc.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "layers/registry.h"
#include "layers/roles.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// Three grey images of 2 x 2: all pixels of image i are i, its label is 10 + i.
class ImageData : public testing::Test {
 protected:
  ImageData()
      : folder_(std::filesystem::temp_directory_path() / ("cortado_image_layer_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    std::ofstream list(folder_ / "list");
    for (int i = 0; i < 3; ++i) {
      std::ofstream(folder_ / (std::to_string(i) + ".pgm")) << "P5 2 2 255\n" << std::string(4, char(i));
      list << i << ".pgm " << 10 + i << "\n";
    }
  }
  ~ImageData() override { std::filesystem::remove_all(folder_); }

  std::string layer(const std::string& more) const {
    return "type: 'ImageData' top: 'data' top: 'label' image_data_param { source: '" + (folder_ / "list").string() +
           "' root_folder: '" + folder_.string() + "/' batch_size: 2 " + more + " }";
  }

  std::filesystem::path folder_;
};

DataCursor& cursor_of(LayerRun& run) { return dynamic_cast<DataCursor&>(run.layer()); }

TEST_F(ImageData, ReadsBatchesAndContinuesAfterSeek) {
  LayerRun run(layer("is_color: false"), {}, {.backward = false});
  EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{2, 1, 2, 2}, {2}}));
  run.forward();
  run.forward();
  expect_near(run.y()[0], Array({2, 1, 2, 2}, {2, 2, 2, 2, 0, 0, 0, 0}), 0, "data");
  expect_near(run.y()[1], Array({2}, {12, 10}), 0, "label");
  EXPECT_EQ(cursor_of(run).position(), 4u);
  cursor_of(run).seek(1);
  run.forward();
  expect_near(run.y()[1], Array({2}, {11, 12}), 0, "label");
}

TEST_F(ImageData, ConvertsGreyImagesByDefault) {
  LayerRun run(layer("new_height: 5 new_width: 4"), {}, {.backward = false});
  EXPECT_EQ(run.made().shapes.y[0], (Shape{2, 3, 5, 4}));
  run.forward();
  for (int k = 0; k < 60; ++k) EXPECT_EQ(run.y()[0][size_t(60 + k)], 1);
}

TEST_F(ImageData, SupportsLabelsOfSeveralNumbers) {
  std::ofstream(folder_ / "list") << "0.pgm 1 0 2.5\n1.pgm 0 0 1\n2.pgm -1 1 1\n";
  LayerRun run(layer("is_color: false label_dim: 3"), {}, {.backward = false});
  EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{2, 1, 2, 2}, {2, 3}}));
  run.forward();
  expect_near(run.y()[1], Array({2, 3}, {1, 0, 2.5, 0, 0, 1}), 0, "label");
  run.forward();
  expect_near(run.y()[0], Array({2, 1, 2, 2}, {2, 2, 2, 2, 0, 0, 0, 0}), 0, "data");
  expect_near(run.y()[1], Array({2, 3}, {-1, 1, 1, 1, 0, 2.5}), 0, "label");
  EXPECT_THROW(LayerRun(layer("label_dim: 4"), {}, {.backward = false}), Error) << "lines have three";
  expect_field_error(layer("label_dim: 0"), {}, "image_data_param.label_dim", "must be from 1 to");
  expect_field_error(layer("label_dim: 3 } transform_param { augment { mix { classes: 4 mixup_alpha: 1 } }"), {},
                     "image_data_param.label_dim", "mixed samples");
}

TEST_F(ImageData, RejectsMixingOfLabelVectors) {
  LayerRun run(layer("label_type: IMAGE"), {}, {.backward = false});
  expect_field_error(layer("label_type: PIXEL"), {}, "image_data_param.label_type", "one class for each image");
}

/// The shapes that are known without the files.
std::vector<Shape> closed_shapes(const std::string& options) {
  const MadeLayer parsed("type: 'Silence' " + options, "", {});
  caffe::LayerParameter config = parsed.config;
  config.set_type("ImageData");
  config.add_top("data");
  config.add_top("label");
  LayerOptions made{.config = config};
  made.open_data = false;
  return find_layer_type("ImageData")->make(made)->infer({}).y;
}

TEST(ImageDataWithoutItsFiles, KnowsTheShapeFromACropOrASize) {
  const std::string source = "image_data_param { source: 'nowhere' batch_size: 4 ";
  EXPECT_EQ(closed_shapes(source + "}"), (std::vector<Shape>{Shape{-1}, {4}}));
  EXPECT_EQ(closed_shapes(source + "new_height: 6 new_width: 7 }")[0], (Shape{4, 3, 6, 7}));
  EXPECT_EQ(closed_shapes(source + "new_height: 6 new_width: 7 is_color: false } "
                                   "transform_param { crop_size: 5 }")[0],
            (Shape{4, 1, 5, 5}));
}

}  // namespace
}  // namespace cortado::harness
