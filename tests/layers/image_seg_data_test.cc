#include "core/error.h"
#include "tests/layers/pair_folder.h"

namespace cortado::harness {
namespace {

const std::string kTops = "top: 'data' top: 'label' top: 'data_dim' ";

class ImageSegData : public testing::Test {
 protected:
  ImageSegData() {
    folder_.add(0, 2, 3);
    folder_.add(1, 5, 3);
    folder_.write("list", "i0.pgm l0.pgm\ni1.pgm l1.pgm\n");
    folder_.write("images", "i0.pgm\ni1.pgm\n");
  }
  std::string layer(const std::string& tops, const std::string& more, const std::string& rest = "",
                    const std::string& list = "list") const {
    return "type: 'ImageSegData' " + tops + "image_data_param { " + folder_.source(list) +
           "batch_size: 2 is_color: false " + more + " } " + rest;
  }

  const PairFolder folder_{"image_seg_data"};
};

TEST_F(ImageSegData, PadsImagesSmallerThanTheCrop) {
  LayerRun run(layer(kTops, "", "transform_param { crop_size: 4 mean_value: 6.8 }"), {},
               {.phase = caffe::TEST, .backward = false});
  EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{2, 1, 4, 4}, {2, 1, 4, 4}, {2, 1, 1, 2}}));
  run.forward();
  for (int k = 0; k < 16; ++k) {
    const bool inside = k / 4 < 2 && k % 4 < 3;
    EXPECT_NEAR(run.y()[0][size_t(k)], (inside ? pixel_of(0, k / 4, k % 4) : 7) - 6.8, 1e-5) << k;
    EXPECT_EQ(run.y()[1][size_t(k)], inside ? label_of(0, k / 4, k % 4) : 255) << k;
    const bool second = k % 4 < 3;  // five rows, of which testing reads the first four, cropped in two ways
    EXPECT_EQ(run.y()[1][size_t(16 + k)], second ? label_of(1, k / 4, k % 4) : 255) << k;
  }
  expect_near(run.y()[2], Array({2, 1, 1, 2}, {2, 3, 4, 3}), 0, "sizes");
}

TEST_F(ImageSegData, AcceptsListsWithoutLabels) {
  LayerRun run(layer("top: 'data' top: 'label' ", "has_label: false", "transform_param { crop_size: 5 }", "images"), {},
               {.backward = false});
  run.forward();
  EXPECT_EQ(run.y()[0][6], pixel_of(0, 1, 1));
  for (size_t k = 0; k < 50; ++k) EXPECT_EQ(run.y()[1][k], 255);
  LayerRun alone(layer("top: 'data' ", "label_type: NONE", "transform_param { crop_size: 5 }", "images"), {},
                 {.backward = false});
  EXPECT_EQ(alone.made().shapes.y, (std::vector<Shape>{{2, 1, 5, 5}}));
  alone.forward();
  EXPECT_EQ(alone.y()[0][25 + 6], pixel_of(1, 1, 1));
}

TEST_F(ImageSegData, MirrorsBothAlike) {
  LayerRun run(layer("top: 'data' top: 'label' ", "", "transform_param { crop_size: 3 mirror: true }"), {},
               {.backward = false});
  bool flipped = false, straight = false;
  for (int pass = 0; pass < 8; ++pass) {
    run.forward();
    for (size_t k = 9; k < 18; ++k) EXPECT_EQ(run.y()[1][k], run.y()[0][k] + 3);
    (run.y()[1][10] < run.y()[1][9] ? flipped : straight) = true;
  }
  EXPECT_TRUE(flipped && straight);
}

TEST(ImageSegDataOptions, AreChecked) {
  const auto refuses = [](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error("type: 'ImageSegData' top: 'data' image_data_param { " + options, {}, field, words);
  };
  refuses("}", "image_data_param.source", "not set");
  refuses("source: 's' short_side: 3 }", "image_data_param.short_side", "not supported");
  refuses("source: 's' label_dim: 3 }", "image_data_param.label_dim", "not supported");
  refuses("source: 's' } transform_param { augment { flip_h: 1 } }", "transform_param.augment",
          "only cropped and mirrored");
}

TEST(ImageSegDataWithoutItsFiles, KnowsTheShapesFromACrop) {
  const std::string options = "image_data_param { source: 's' batch_size: 4 } ";
  EXPECT_EQ(shapes_without_files("ImageSegData", options + "transform_param { crop_size: 9 }", 3),
            (std::vector<Shape>{{4, 3, 9, 9}, {4, 1, 9, 9}, {4, 1, 1, 2}}));
  EXPECT_EQ(shapes_without_files("ImageSegData", options, 2), (std::vector<Shape>{Shape{-1}, Shape{-1}}));
}

}  // namespace
}  // namespace cortado::harness
