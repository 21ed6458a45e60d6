#include <cmath>
#include <set>

#include "core/error.h"
#include "layers/roles.h"
#include "proto/files/read_text.h"
#include "tests/layers/pair_folder.h"

namespace cortado::harness {
namespace {

const std::string kType = "type: 'DenseImageData' top: 'data' top: 'label' dense_image_data_param { ";

class DenseImageData : public testing::Test {
 protected:
  DenseImageData() {
    for (int i = 0; i < 3; ++i) folder_.add(i, 4, 6);
    folder_.write("list", "i0.pgm l0.pgm\ni1.pgm l1.pgm\n\ni2.pgm l2.pgm\n");
  }
  std::string layer(const std::string& more, const std::string& rest = "") const {
    return kType + folder_.source() + "batch_size: 2 is_color: false " + more + " } " + rest;
  }

  const PairFolder folder_{"dense_image_data"};
};

TEST_F(DenseImageData, ReadsImagesAndTheirLabels) {
  LayerRun run(layer(""), {}, {.backward = false});
  EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{2, 1, 4, 6}, {2, 1, 4, 6}}));
  run.forward();
  for (int k = 0; k < 48; ++k) {
    EXPECT_EQ(run.y()[0][size_t(k)], pixel_of(k / 24, k / 6 % 4, k % 6));
    EXPECT_EQ(run.y()[1][size_t(k)], label_of(k / 24, k / 6 % 4, k % 6));
  }
  run.forward();
  EXPECT_EQ(run.y()[1][0], label_of(2, 0, 0));
  EXPECT_EQ(run.y()[1][24], label_of(0, 0, 0));
  auto& cursor = dynamic_cast<DataCursor&>(run.layer());
  EXPECT_EQ(cursor.position(), 4u);
  cursor.seek(1);
  run.forward();
  EXPECT_EQ(run.y()[1][0], label_of(1, 0, 0));
}

/// Image and label show the same position, for any draw; the mean and the factor do not change labels.
TEST_F(DenseImageData, CropsAndMirrorsBothAlike) {
  LayerRun run(layer("shuffle: true", "transform_param { crop_size: 3 mirror: true scale: 0.1 mean_value: 3 }"), {},
               {.backward = false});
  EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{2, 1, 3, 3}, {2, 1, 3, 3}}));
  std::set<double> corners;
  for (int pass = 0; pass < 12; ++pass) {
    run.forward();
    for (size_t k = 0; k < 18; ++k) {
      const double label = run.y()[1][k];
      EXPECT_EQ(label, std::round(label));
      EXPECT_NEAR(run.y()[0][k], (label - 3 - 3) * 0.1, 1e-4);
    }
    const double step = run.y()[1][1] - run.y()[1][0];
    EXPECT_EQ(std::fabs(step), 1);
    corners.insert(run.y()[1][0]);
  }
  EXPECT_GT(corners.size(), 5u);
}

/// The crop of SegNet's fork: at random in training, in the centre in testing, the same for both images.
TEST_F(DenseImageData, CropsToCropHeightAndCropWidth) {
  const std::string text = "layer { name: 'd' " + layer("crop_height: 2 crop_width: 3", "") + " }";
  const NetFile file = read_net_from_text(text, "net.prototxt");
  EXPECT_EQ(file.positions.place("layer[0].transform_param.crop_h").column, int(text.find("crop_height: ") + 14));
  for (const caffe::Phase phase : {caffe::TEST, caffe::TRAIN}) {
    LayerRun run(file.net.layer(0).ShortDebugString(), {}, {.phase = phase, .backward = false});
    EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{2, 1, 2, 3}, {2, 1, 2, 3}}));
    std::set<double> corners;
    for (int pass = 0; pass < 12; ++pass) {
      run.forward();
      for (int k = 0; k < 12; ++k) {
        const double label = run.y()[1][size_t(k)], first = run.y()[1][size_t(k / 6 * 6)];
        EXPECT_EQ(run.y()[0][size_t(k)], label - label_of(0, 0, 0) + pixel_of(0, 0, 0));
        EXPECT_EQ(label, first + label_of(0, k / 3 % 2, k % 3) - label_of(0, 0, 0));
      }
      if (phase == caffe::TEST) {
        EXPECT_EQ(run.y()[1][0], label_of(pass * 2 % 3, 1, 1));
      }
      corners.insert(run.y()[1][0]);
    }
    EXPECT_GT(corners.size(), phase == caffe::TEST ? 1u : 5u);
  }
  const auto wrong = [&](const std::string& more, const std::string& rest) {
    const NetFile net = read_net_from_text("layer { name: 'd' " + layer(more, rest) + " }", "net.prototxt");
    std::string config = net.net.layer(0).ShortDebugString();
    expect_field_error(config, {}, rest.empty() ? "transform_param.crop_h" : "transform_param.crop_size", "crop_w");
  };
  wrong("crop_height: 2", "");
  wrong("crop_height: 2 crop_width: 3", "transform_param { crop_size: 2 }");
}

TEST_F(DenseImageData, ResizesLabelsByNearestNeighbour) {
  LayerRun run(layer("new_height: 2 new_width: 9"), {}, {.backward = false});
  run.forward();
  for (int k = 0; k < 18; ++k) EXPECT_EQ(run.y()[1][size_t(k)], label_of(0, k / 9 * 2, k % 9 * 6 / 9));
}

TEST_F(DenseImageData, DownsamplesLabels) {
  LayerRun run(layer("label_divide_factor: 2"), {}, {.backward = false});
  EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{2, 1, 4, 6}, {2, 1, 2, 3}}));
  run.forward();
  for (int k = 0; k < 12; ++k) EXPECT_EQ(run.y()[1][size_t(k)], label_of(k / 6, k / 3 % 2 * 2, k % 3 * 2));
  LayerRun odd(layer("label_divide_factor: 2.5"), {}, {.backward = false});
  EXPECT_EQ(odd.made().shapes.y[1], (Shape{2, 1, 1, 2}));
  odd.forward();
  EXPECT_EQ(odd.y()[1][1], label_of(0, 0, 2));
}

TEST_F(DenseImageData, ConvertsGreyImagesAndSubtractsAMeanForEachChannel) {
  LayerRun run(kType + folder_.source() + "batch_size: 3 } transform_param { mean_value: [1, 2, 3] }", {},
               {.backward = false});
  EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{3, 3, 4, 6}, {3, 1, 4, 6}}));
  run.forward();
  for (int k = 0; k < 72; ++k) EXPECT_EQ(run.y()[0][size_t(k)], pixel_of(0, k / 6 % 4, k % 6) - (k / 24 + 1));
  EXPECT_EQ(run.y()[1][24 + 7], label_of(1, 1, 1));
}

TEST_F(DenseImageData, SupportsCaching) {
  const std::string rest = "transform_param { crop_size: 3 mirror: true } ";
  LayerRun run(layer("", rest), {}, {.backward = false});
  LayerRun kept(layer("", rest + "data_param { cache_on: HOST }"), {}, {.backward = false});
  for (int pass = 0; pass < 3; ++pass) {
    run.forward();
    kept.forward();
    for (size_t i = 0; i < 2; ++i) expect_near(kept.y()[i], run.y()[i], 0, "top " + std::to_string(i));
  }
}

TEST_F(DenseImageData, ReportsTheInvalidLine) {
  const auto expect = [&](const std::string& list, const std::string& words) {
    folder_.write("list", list);
    try {
      LayerRun run(layer(""), {}, {.backward = false});
      run.forward();
      ADD_FAILURE() << list;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kData);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  expect("i0.pgm l0.pgm\ni1.pgm\n", "list:2:1: error: the path of the labels is missing");
  expect("", "no image is in the list");
  expect("i0.pgm l0.pgm\ni1.pgm none.pgm\n", "list:2:1: error: i1.pgm: its labels none.pgm");
  folder_.add(7, 3, 3);
  expect("i0.pgm l7.pgm\n", "the image is 4x6, but its labels are 3x3");
  expect("i0.pgm l0.pgm\ni7.pgm l7.pgm\n", "images of a batch must have the same size");
}

TEST(DenseImageDataOptions, AreChecked) {
  const std::string source = "source: 'nowhere' batch_size: 1 ";
  const auto refuses = [](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error(kType + options, {}, field, words);
  };
  const std::string p = "dense_image_data_param";
  refuses("batch_size: 1 }", p + ".source", "not set");
  refuses("source: 's' }", p + ".batch_size", "batch_size is 0");
  refuses(source + "new_height: 3 }", p + ".new_height", "set both");
  refuses(source + "label_divide_factor: 0.5 }", p + ".label_divide_factor", "at least 1");
  refuses(source + "label_divide_factor: nan }", p + ".label_divide_factor", "at least 1");
  refuses(source + "is_color: true } transform_param { force_gray: true }", p + ".is_color", "contradicts it");
  refuses(source + "} transform_param { scale: 0 }", "transform_param.scale", "other than 0");
  refuses(source + "} transform_param { mean_value: [1, 2] }", "transform_param.mean_value", "2 mean values");
  refuses(source + "} transform_param { resize_param { prob: 1 } }", "transform_param.resize_param",
          "only cropped and mirrored");
}

TEST(DenseImageDataWithoutItsFiles, KnowsTheShapesFromACropOrASize) {
  const auto shapes = [](const std::string& more) {
    return shapes_without_files("DenseImageData", "dense_image_data_param { source: 's' batch_size: 4 " + more, 2);
  };
  EXPECT_EQ(shapes("}"), (std::vector<Shape>{Shape{-1}, Shape{-1}}));
  EXPECT_EQ(shapes("new_height: 16 new_width: 32 label_divide_factor: 8 }"),
            (std::vector<Shape>{{4, 3, 16, 32}, {4, 1, 2, 4}}));
  EXPECT_EQ(shapes("is_color: false } transform_param { crop_h: 5 crop_w: 7 }"),
            (std::vector<Shape>{{4, 1, 5, 7}, {4, 1, 5, 7}}));
}

}  // namespace
}  // namespace cortado::harness
