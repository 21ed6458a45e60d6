#include <set>

#include "core/error.h"
#include "data/image/image.h"
#include "tests/layers/pair_folder.h"

namespace cortado::harness {
namespace {

/// A frame of one grey value, which JPEG preserves; `marked`: its left half is white.
std::string frame(int grey, int height, int width, bool marked = false) {
  data::Image image;
  image.resize(3, height, width);
  for (size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = marked && int(i / 3) % width < width / 2 ? 255 : uint8_t(grey);
  return data::encode_image(image, "jpg");
}

/// Two folders of frames 1 to 8: frame i of the first has the grey 10 i, of the second 10 i + 100.
class VideoData : public testing::Test {
 protected:
  VideoData() {
    for (int clip = 0; clip < 2; ++clip) {
      std::filesystem::create_directories(folder_.path("a clip " + std::to_string(clip)));
      for (int i = 1; i <= 8; ++i)
        folder_.write("a clip " + std::to_string(clip) + "/00000" + std::to_string(i) + ".jpg",
                      frame(10 * i + 100 * clip, 8, 16));
    }
    folder_.write("list", "a clip 0 1 7\na clip 1 3 8\n");
  }
  std::string layer(const std::string& more, const std::string& rest = "") const {
    return "type: 'VideoData' top: 'data' top: 'label' video_data_param { " + folder_.source() + more + " } " + rest;
  }

  const PairFolder folder_{"video_data"};
};

TEST_F(VideoData, ReadsConsecutiveFrames) {
  LayerRun run(
      layer("batch_size: 2 new_length: 3 sampling_rate: 2", "transform_param { mean_value: [1, 2, 3] scale: 2 }"), {},
      {.backward = false});
  EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{2, 3, 3, 8, 16}, {2}}));
  run.forward();
  for (int k = 0; k < 2 * 3 * 3 * 128; ++k) {
    const int clip = k / 1152, c = k / 384 % 3, l = k / 128 % 3;
    const int number = (clip == 0 ? 1 : 3) + 2 * l;
    ASSERT_NEAR(run.y()[0][size_t(k)], (10 * number + 100 * clip - (c + 1)) * 2, 4) << k;
  }
  expect_near(run.y()[1], Array({2}, {7, 8}), 0, "label");
}

TEST_F(VideoData, CropsAndMirrorsAllFramesAlike) {
  for (int i = 1; i <= 8; ++i) folder_.write("a clip 0/00000" + std::to_string(i) + ".jpg", frame(0, 8, 16, true));
  folder_.write("list", "a clip 0 1 7\n");
  LayerRun run(layer("new_length: 8 new_height: 16 new_width: 32", "transform_param { crop_size: 10 mirror: true }"),
               {}, {.backward = false});
  EXPECT_EQ(run.made().shapes.y[0], (Shape{1, 3, 8, 10, 10}));
  std::set<std::vector<double>> rows;
  for (int pass = 0; pass < 10; ++pass) {
    run.forward();
    const auto& values = run.y()[0].values;
    const std::vector<double> first(values.begin(), values.begin() + 100);
    for (int frame = 1; frame < 24; ++frame)
      EXPECT_TRUE(std::equal(first.begin(), first.end(), values.begin() + frame * 100)) << frame;
    rows.insert(first);
  }
  EXPECT_GT(rows.size(), 3u);
}

TEST_F(VideoData, ReportsErrors) {
  const auto expect = [&](const std::string& list, const std::string& more, const std::string& words) {
    folder_.write("list", list);
    try {
      LayerRun run(layer(more), {}, {.backward = false});
      run.forward();
      ADD_FAILURE() << list;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kData);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  expect("a 1\n", "", "list:1:1: error: a folder, a frame and a label are needed");
  expect("a clip 0 1 x\n", "", "list:1:12: error: the label 'x' is not a whole number");
  expect("a clip 0 -1 2\n", "", "list:1:10: error: the first frame '-1'");
  expect("a clip 0 7 2\n", "new_length: 3", "frame 000009.jpg");
  folder_.write("a clip 0/000002.jpg", frame(5, 8, 8));
  expect("a clip 0 1 2\n", "new_length: 3", "its frames have different sizes");
}

TEST(VideoDataOptions, AreChecked) {
  const auto refuses = [](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error("type: 'VideoData' top: 'data' video_data_param { " + options, {}, field, words);
  };
  const std::string p = "video_data_param.";
  refuses("}", p + "source", "not set");
  refuses("source: 's' use_image: false }", p + "use_image", "videos are not supported");
  refuses("source: 's' use_temporal_jitter: true }", p + "use_temporal_jitter", "only for videos");
  refuses("video_type: VIDEO video_file: 'f' }", p + "video_type", "cameras and videos");
  refuses("source: 's' new_length: 0 }", p + "new_length", "new_length is 0");
  refuses("source: 's' sampling_rate: 0 }", p + "sampling_rate", "sampling_rate is 0");
  refuses("source: 's' new_width: 9 }", p + "new_width", "set both");
  refuses("source: 's' batch_size: 0 }", p + "batch_size", "batch_size is 0");
  refuses("source: 's' } transform_param { mean_value: [1, 2] }", "transform_param.mean_value", "there are 2");
  refuses("source: 's' } transform_param { force_gray: true }", "transform_param.force_gray", "three colours");
  refuses("source: 's' } image_data_param { rand_skip: 3 }", "image_data_param", "does not support");
}

TEST(VideoDataWithoutItsFiles, KnowsTheShapeFromACropOrASize) {
  const std::string source = "video_data_param { source: 's' batch_size: 4 new_length: 16 ";
  EXPECT_EQ(shapes_without_files("VideoData", source + "new_height: 6 new_width: 7 }", 2),
            (std::vector<Shape>{{4, 3, 16, 6, 7}, {4}}));
  EXPECT_EQ(shapes_without_files("VideoData", source + "} transform_param { crop_size: 5 }", 1),
            (std::vector<Shape>{{4, 3, 16, 5, 5}}));
  EXPECT_EQ(shapes_without_files("VideoData", source + "}", 2), (std::vector<Shape>{Shape{-1}, {4}}));
}

}  // namespace
}  // namespace cortado::harness
