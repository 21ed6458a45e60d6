#include <set>

#include "core/error.h"
#include "data/image/image.h"
#include "tests/layers/avi_file.h"
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

/// A film of 200 frames; frame i has the grey i. Lists name it.
class VideoDataFilms : public VideoData {
 protected:
  static constexpr int kFrames = 200;

  VideoDataFilms() { folder_.write("film.avi", film()); }
  static std::string film() {
    std::vector<std::string> jpegs;
    for (int i = 0; i < kFrames; ++i) jpegs.push_back(frame(i, 16, 32));
    return avi_film(jpegs, 16, 32);
  }
  std::string films(const std::string& more) const { return layer("use_image: false " + more); }

  /// The grey levels of all frames of a batch.
  static std::vector<double> greys(const Array& y) {
    std::vector<double> made;
    const int64_t length = y.shape[2], pixels = y.shape[3] * y.shape[4];
    for (int64_t n = 0; n < y.shape[0]; ++n)
      for (int64_t l = 0; l < length; ++l) made.push_back(y[size_t((n * 3 * length + l) * pixels + pixels / 2)]);
    return made;
  }
};

TEST_F(VideoDataFilms, HaveConsecutiveFramesFromZeroOn) {
  folder_.write("list", "film.avi 0 1\nfilm.avi 10 2\nfilm.avi 150 3\nfilm.avi 3 4\n");
  LayerRun run(films("batch_size: 4 new_length: 3 sampling_rate: 2"), {}, {.backward = false});
  EXPECT_EQ(run.made().shapes.y, (std::vector<Shape>{{4, 3, 3, 16, 32}, {4}}));
  run.forward();
  const double wanted[] = {0, 2, 4, 10, 12, 14, 150, 152, 154, 3, 5, 7};
  const std::vector<double> found = greys(run.y()[0]);
  for (size_t i = 0; i < 12; ++i) EXPECT_NEAR(found[i], wanted[i], 3) << i;
  expect_near(run.y()[1], Array({4}, {1, 2, 3, 4}), 0, "label");
}

TEST_F(VideoDataFilms, DrawTheFirstFrameWithJitter) {
  folder_.write("list", "film.avi 0 1\n");
  const auto firsts = [&] {
    LayerRun run(films("new_length: 4 sampling_rate: 2 use_temporal_jitter: true new_height: 8 new_width: 8"), {},
                 {.backward = false});
    std::vector<double> made;
    for (int pass = 0; pass < 12; ++pass) {
      run.forward();
      const std::vector<double> found = greys(run.y()[0]);
      EXPECT_NEAR(found[3] - found[0], 6, 4);
      made.push_back(found[0]);
    }
    return made;
  };
  const std::vector<double> once = firsts();
  EXPECT_GT(std::set<double>(once.begin(), once.end()).size(), 6u);
  EXPECT_EQ(once, firsts());
}

TEST_F(VideoDataFilms, ThatAreDamagedAreErrorsOfTheData) {
  const auto broken = [&](const std::string& content, const std::string& line, const std::string& words) {
    folder_.write("film.avi", content);
    folder_.write("list", line);
    try {
      LayerRun run(films("new_length: 8"), {}, {.backward = false});
      for (int pass = 0; pass < 3; ++pass) run.forward();
      if (!words.empty()) ADD_FAILURE() << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kData);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  const std::string whole = film(), line = "film.avi 100 1\n";
  broken(whole, "film.avi 198 1\n", "frame 200 of the video: it ends before");
  broken(whole, "film.avi 100000 1\n", "frame 100000 of the video");
  broken("", line, "the video cannot be opened");
  broken("no video at all", line, "the video cannot be opened");
  broken(whole.substr(0, 100), line, "the video cannot be opened");
  broken(whole.substr(0, whole.size() / 4), line, "of the video: it ends before");
  broken(whole, "none.avi 0 1\n", "the video is not a file");
  broken(whole, "a clip 0 1\n", "the video is not a file");
  for (uint64_t draw = 1; draw < 40; ++draw) {  // damage anywhere is an error or has no effect
    std::string damaged = whole;
    for (uint64_t k = 0; k < 20; ++k) damaged[(draw * 7919 + k * k * 104729) % damaged.size()] = char(draw * 31 + k);
    broken(damaged, line, "");
  }
}

/// Folders of TSN: frame i of an image is image_000i.jpg with the grey 10 i, of flow 10 i along x and 10 i + 5 along y.
class VideoDataSegments : public VideoData {
 protected:
  VideoDataSegments() {
    for (int i = 1; i <= 12; ++i) {
      const std::string number = (i < 10 ? "000" : "00") + std::to_string(i);
      folder_.write("a clip 0/image_" + number + ".jpg", frame(10 * i, 8, 8));
      folder_.write("a clip 0/flow_x_" + number + ".jpg", frame(10 * i, 8, 8));
      folder_.write("a clip 0/flow_y_" + number + ".jpg", frame(10 * i + 5, 8, 8));
      folder_.write("a clip 0/f" + std::to_string(i) + ".jpg", frame(200, 8, 8));
    }
    folder_.write("list", "a clip 0 12 7\n");
  }
  std::vector<double> channels(const std::string& options, caffe::Phase phase, int64_t count) {
    LayerRun run(layer(options), {}, {.phase = phase, .backward = false});
    EXPECT_EQ(run.made().shapes.y[0], (Shape{1, count, 8, 8}));
    run.forward();
    std::vector<double> made;
    for (int64_t c = 0; c < count; ++c) made.push_back(run.y()[0][size_t(c * 64 + 20)]);
    return made;
  }
  static void expect_greys(const std::vector<double>& found, const std::vector<double>& wanted) {
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 3) << i;
  }
};

TEST_F(VideoDataSegments, HaveTheMiddleOfEachInTesting) {
  // Segments of 4 frames: 1 to 4, 5 to 8, 9 to 12; one frame of three or four places, so the second or third.
  expect_greys(channels("num_segments: 3 modality: RGB", caffe::TEST, 9), {30, 30, 30, 70, 70, 70, 110, 110, 110});
  expect_greys(channels("num_segments: 3 new_length: 2 modality: RGB", caffe::TEST, 18),
               {20, 20, 20, 30, 30, 30, 60, 60, 60, 70, 70, 70, 100, 100, 100, 110, 110, 110});
  expect_greys(channels("num_segments: 2 new_length: 2", caffe::TEST, 8), {30, 35, 40, 45, 90, 95, 100, 105});
  expect_greys(channels("modality: RGB name_pattern: 'f%d.jpg'", caffe::TEST, 3), {200, 200, 200});
  expect_greys(channels("num_segments: 5 new_length: 3 modality: RGB", caffe::TEST, 45),
               std::vector<double>{10, 10, 10, 20, 20, 20, 30, 30, 30});  // segments that are too short
}

TEST_F(VideoDataSegments, HaveARandomPartOfEachInTraining) {
  LayerRun run(layer("num_segments: 3 new_length: 2 modality: RGB"), {}, {.phase = caffe::TRAIN, .backward = false});
  std::set<double> firsts;
  for (int pass = 0; pass < 30; ++pass) {
    run.forward();
    const Array& y = run.y()[0];
    for (int s = 0; s < 3; ++s) {
      const double first = std::round(y[size_t(s * 6 * 64)] / 10),
                   second = std::round(y[size_t((s * 6 + 3) * 64)] / 10);
      EXPECT_EQ(second, first + 1);
      EXPECT_GE(first, 1 + 4 * s);
      EXPECT_LE(second, 4 + 4 * s);
      firsts.insert(first);
    }
  }
  EXPECT_EQ(firsts.size(), 9u);
}

TEST(VideoDataOptions, AreChecked) {
  const auto refuses = [](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error("type: 'VideoData' top: 'data' video_data_param { " + options, {}, field, words);
  };
  const std::string p = "video_data_param.";
  refuses("}", p + "source", "not set");
  refuses("source: 's' use_temporal_jitter: true }", p + "use_temporal_jitter", "only for videos");
  refuses("video_type: VIDEO video_file: 'f' }", p + "video_type", "cameras are not supported");
  refuses("source: 's' num_segments: 0 }", p + "num_segments", "num_segments is 0");
  refuses("source: 's' num_segments: 2000 new_length: 4 }", p + "new_length", "16000 images");
  refuses("source: 's' num_segments: 2 use_image: false }", p + "use_image", "segments");
  refuses("source: 's' num_segments: 2 sampling_rate: 2 }", p + "sampling_rate", "segments");
  for (const std::string pattern : {"x%s.jpg", "%d%d", "x", "%123d", "%", "%c%d", "%n%d"})
    refuses("source: 's' modality: RGB name_pattern: '" + pattern + "' }", p + "name_pattern", pattern);
  refuses("source: 's' name_pattern: '%d' }", p + "name_pattern", "%c once");
  refuses("source: 's' num_segments: 2 } transform_param { mean_value: [1, 2, 3] }", "transform_param.mean_value",
          "there are 3");
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
  EXPECT_EQ(shapes_without_files("VideoData", source + "num_segments: 3 } transform_param { crop_size: 5 }", 1),
            (std::vector<Shape>{{4, 96, 5, 5}}));
  EXPECT_EQ(shapes_without_files("VideoData", source + "}", 2), (std::vector<Shape>{Shape{-1}, {4}}));
}

}  // namespace
}  // namespace cortado::harness
