// WindowData: the file, the draws, and the warp against a reference, pixel by pixel in double precision.
#include "data/sources/window_source.h"

#include <cmath>
#include <set>

#include "tests/data/fixtures.h"
#include "tests/data/layer_batches.h"

namespace cortado::data::testing {

namespace {

/// Every channel is a linear function of the position, so that interpolation is exact except for rounding.
Image slope(int height, int width, int variant) {
  Image image;
  image.resize(3, height, width);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c)
        image.pixels[size_t((y * width + x) * 3 + c)] = uint8_t(10 + 2 * y + 3 * x + 20 * c + 5 * variant);
  return image;
}

const char* const kWindows =
    "# 0\na.ppm\n3\n30\n40\n4\n"
    "1 0.9 5 5 14 20\n2 0.5 0 0 39 29\n3 0.3 10 10 20 20\n4 0.05 20 5 39 12\n"
    "# 1\nsub dir/b.ppm\n3\n20\n16\n2\n"
    "7 1.0 2 3 12 17\r\n0 0 0 0 15 9\n";

class WindowSource : public ::testing::Test {
 protected:
  WindowSource() {
    std::filesystem::create_directory(folder_ / "sub dir");
    write_file(folder_ / "a.ppm", pnm(slope(30, 40, 0)));
    write_file(folder_ / "sub dir/b.ppm", pnm(slope(20, 16, 1)));
    write_file(folder_ / "windows", kWindows);
  }

  std::string layer(const std::string& more, const std::string& transform = "crop_size: 12", int batch = 8) const {
    return "type: 'WindowData' top: 'data' top: 'label' transform_param { " + transform +
           " } window_data_param { source: '" + (folder_ / "windows") + "' root_folder: '" + (folder_ / "") +
           "' batch_size: " + std::to_string(batch) + " " + more + " }";
  }

  const Folder folder_;
};

TEST_F(WindowSource, ReadsTheFile) {
  const WindowFile file = read_window_file(folder_ / "windows", 0.5f, 0.1f);
  EXPECT_EQ(file.channels, 3);
  ASSERT_EQ(file.images.size(), 2u);
  EXPECT_EQ(file.images[1].path, "sub dir/b.ppm");
  EXPECT_EQ(file.images[1].line, 12);
  ASSERT_EQ(file.foreground.size(), 3u);
  EXPECT_EQ(file.foreground[2].label, 7);
  EXPECT_EQ(file.foreground[2].y2, 17);
  ASSERT_EQ(file.background.size(), 2u) << "0.3 is between the thresholds";
  EXPECT_EQ(file.background[0].label, 0);
  EXPECT_EQ(file.background[0].x1, 20);
  write_file(folder_ / "flat", "# 0 a.ppm 3 30 40 1 1 0.9 5 5 14 20");
  EXPECT_EQ(read_window_file(folder_ / "flat", 0.5f, 0.5f).images[0].path, "a.ppm");
}

TEST_F(WindowSource, ErrorsInTheFileHaveALineAndColumn) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"0\n", "1:1: error: '0' where '#'"},
      {"# x\n", "1:3: error: 'x' where the image's index"},
      {"# 0\na\n3\n30\n", "5:0"},
      {"# 0\na\n2\n30\n40\n0\n", "2 channels"},
      {"# 0\na\n3\n30\n40\n0\n# 1\nb\n1\n3\n4\n0\n", "1 channels"},
      {"# 0\na\n3\n30\n40\n1\n1 0.9 5 5 4 20\n", "7:11: error: x2 is 4"},
      {"# 0\na\n3\n30\n40\n1\n1 high 5 5 4 20\n", "7:3: error: 'high' where a window's overlap"},
      {"# 0\na\n3\n30\n40\n1\n0 0.9 5 5 9 20\n", "a foreground window has class 0"},
      {"# 0\na\n3\n30\n40\n-1\n", "6:1: error: the number of windows is -1"},
      {"# 0\na\n3\n30\n40\n1\n1 0.9 5 5 999999999 20\n", "beyond the maximum image size"},
      {"", "the file lists no image"}};
  for (const auto& [text, part] : mistakes) {
    write_file(folder_ / "wrong", text);
    const std::string wanted = std::string(part) == "5:0" ? "the file ends where the width is expected" : part;
    expect_error([&] { read_window_file(folder_ / "wrong", 0.5f, 0.5f); }, ExitCode::kData, wanted);
  }
}

TEST_F(WindowSource, ABatchBeginsWithBackgroundAndEndsWithForeground) {
  std::set<float> classes;
  for (const LayerBatch& batch : layer_batches(layer("fg_fraction: 0.3 bg_threshold: 0.1"), 30)) {
    EXPECT_EQ(batch.shape, (Shape{8, 3, 12, 12}));
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(batch.labels[size_t(i)] > 0, i >= 6) << "8 * 0.3 is rounded down";
      classes.insert(batch.labels[size_t(i)]);
    }
  }
  EXPECT_EQ(classes, (std::set<float>{0, 1, 2, 7}));
}

TEST_F(WindowSource, ThreadsPositionsAndDevicesDoNotChangeBatches) {
  const std::string text =
      layer("context_pad: 2", "crop_size: 12 mirror: true mean_value: 3 mean_value: 4 mean_value: 5");
  const std::vector<LayerBatch> expected = layer_batches(text, 6);
  EXPECT_NE(expected[0], expected[1]);
  EXPECT_EQ(layer_batches(text, 6, {.threads = 8}), expected);
  EXPECT_EQ(layer_batches(text, 6, {.threads = 2, .device = DeviceKind::kSimulated}), expected);
  EXPECT_EQ(layer_batches(text, 2, {.threads = 3, .from = 4 * 8}), std::vector(expected.begin() + 4, expected.end()));
  EXPECT_NE(layer_batches(text, 6, {.seed = 2}), expected);
  EXPECT_EQ(layer_batches(layer("context_pad: 2 cache_images: true",
                                "crop_size: 12 mirror: true mean_value: 3 mean_value: 4 mean_value: 5"),
                          6, {.threads = 4}),
            expected);
}

TEST(WindowPlace, WidensByTheContextAndPadsOutsideOfTheImage) {
  // Half of 6 is 3, the middle is (3, 6), and 3 * 10 / (10 - 4) is 5: columns -2 to 8, rows 1 to 11. Of 11 columns 9
  // are inside the image: 8.18 of 10 pixels, after 1.82 of padding.
  const Window window{0, 1, 0, 3, 5, 8};
  const WarpPlace place = place_window(window, {10, 2, false}, false, 20, 30);
  EXPECT_EQ(std::vector<int>({place.part.left, place.part.width, place.part.top, place.part.height}),
            std::vector<int>({0, 9, 1, 11}));
  EXPECT_EQ(std::vector<int>({place.left, place.width, place.top, place.height}), std::vector<int>({2, 8, 0, 10}));
  EXPECT_EQ(place_window(window, {10, 2, false}, true, 20, 30).left, 0) << "flipped, the padding is on the right";
  const WarpPlace square = place_window({0, 1, 10, 4, 13, 13}, {10, 0, true}, false, 20, 30);
  EXPECT_EQ(std::vector<int>({square.part.left, square.part.width, square.part.top, square.part.height}),
            std::vector<int>({7, 11, 4, 11}));
  expect_sample_error("extends beyond it", [&] { place_window({0, 1, 0, 0, 30, 5}, {10, 0, false}, false, 20, 30); });
  expect_sample_error("outside of the image", [&] {
    place_window({0, 1, 90, 0, 99, 5}, {10, 1, false}, false, 20, 30);
  });
}

/// Bilinear interpolation in double precision, clamped to the part.
double bilinear(const Image& image, const SourcePart& part, double y, double x, int c) {
  const auto clamped = [](double at, int size) { return std::clamp(at, 0.0, double(size - 1)); };
  y = clamped(y, part.height), x = clamped(x, part.width);
  const int y0 = int(y), x0 = int(x), y1 = std::min(y0 + 1, part.height - 1), x1 = std::min(x0 + 1, part.width - 1);
  const auto at = [&](int row, int column) {
    return double(image.pixels[size_t(((part.top + row) * image.width + part.left + column) * image.channels + c)]);
  };
  const double fy = y - y0, fx = x - x0;
  return (at(y0, x0) * (1 - fx) + at(y0, x1) * fx) * (1 - fy) + (at(y1, x0) * (1 - fx) + at(y1, x1) * fx) * fy;
}

TEST_F(WindowSource, WarpsLikeTheReference) {
  caffe::BlobProto mean;
  for (const int dim : {3, 16, 16}) mean.mutable_shape()->add_dim(dim);
  for (int i = 0; i < 3 * 16 * 16; ++i) mean.add_data(float(i % 11));
  write_file(folder_ / "mean.binaryproto", mean.SerializeAsString());
  write_file(folder_ / "windows", "# 0\na.ppm\n3\n30\n40\n1\n1 0.9 1 5 9 25\n");
  const Image image = slope(30, 40, 0);
  for (const std::string mode : {"warp", "square"})
    for (const int pad : {0, 3})
      for (const bool has_file : {true, false}) {
        const std::string values = has_file ? "mean_file: '" + (folder_ / "mean.binaryproto") + "'" : "mean_value: 7";
        const std::string text = layer("fg_fraction: 1 crop_mode: '" + mode + "' context_pad: " + std::to_string(pad),
                                       "crop_size: 12 mirror: true scale: 0.5 " + values, 1);
        std::set<bool> coins;
        for (const LayerBatch& batch : layer_batches(text, 12)) {
          int fits = 0;  // the pixels must agree with one of the two
          for (const bool mirror : {false, true}) {
            const WarpPlace place = place_window({0, 1, 1, 5, 9, 25}, {12, pad, mode == "square"}, mirror, 30, 40);
            double worst = 0;
            for (int c = 0; c < 3; ++c)
              for (int y = 0; y < 12; ++y)
                for (int x = 0; x < 12; ++x) {
                  const int row = y - place.top, column = x - place.left;
                  double wanted = 0;
                  if (row >= 0 && row < place.height && column >= 0 && column < place.width) {
                    const int from = mirror ? place.width - 1 - column : column;
                    const double at_y = (row + 0.5) * place.part.height / place.height - 0.5;
                    const double at_x = (from + 0.5) * place.part.width / place.width - 0.5;
                    const double less = has_file ? (c * 256 + (y + 2) * 16 + x + 2) % 11 : 7;
                    wanted = (bilinear(image, place.part, at_y, at_x, c) - less) * 0.5;
                  }
                  worst = std::max(worst, std::abs(wanted - double(batch.data[size_t((c * 12 + y) * 12 + x)])));
                }
            if (worst > 0.26) continue;  // half a grey level times 0.5
            ++fits;
            coins.insert(mirror);
          }
          EXPECT_EQ(fits, 1) << mode << ", padding " << pad;
        }
        EXPECT_EQ(coins.size(), 2u) << "both mirrorings must occur";
      }
}

TEST_F(WindowSource, MissingKindsOfWindowsAreAnError) {
  write_file(folder_ / "windows", "# 0\na.ppm\n3\n30\n40\n1\n1 0.9 1 5 9 25\n");
  expect_error([&] { layer_batches(layer(""), 1); }, ExitCode::kData, "no background windows");
  EXPECT_EQ(layer_batches(layer("fg_fraction: 1"), 1)[0].labels[0], 1);
  expect_error([&] { layer_batches(layer("fg_threshold: 0.95"), 1); }, ExitCode::kData, "no foreground windows");
  EXPECT_EQ(layer_batches(layer("fg_fraction: 0 fg_threshold: 0.95 bg_threshold: 0.95"), 1)[0].labels[0], 0);
}

TEST_F(WindowSource, AMissingImageIsReportedWithItsLine) {
  write_file(folder_ / "windows", "# 0\nnone.ppm\n3\n30\n40\n1\n1 0.9 1 5 9 25\n");
  expect_error([&] { layer_batches(layer("fg_fraction: 1"), 1); }, ExitCode::kData,
               "windows:2:1: error: none.ppm: cannot read the file");
}

TEST_F(WindowSource, NamesTheWrongField) {
  const std::string own = "window_data_param.";
  expect_field(own + "source", "type: 'WindowData' transform_param { crop_size: 9 }");
  expect_field(own + "batch_size", layer("", "crop_size: 12", 0));
  expect_field(own + "crop_mode", layer("crop_mode: 'zoom'"));
  expect_field(own + "context_pad", layer("context_pad: 6"));
  expect_field(own + "fg_fraction", layer("fg_fraction: 1.5"));
  expect_field("transform_param.crop_size", layer("", ""));
  expect_field("transform_param.force_gray", layer("", "crop_size: 12 force_gray: true"));
  expect_field("transform_param.augment", layer("", "crop_size: 12 augment { rotate: 3 }"));
  try {
    layer_batches(layer("", "crop_size: 12 mean_value: 1 mean_value: 2"), 1);
    ADD_FAILURE();
  } catch (const FieldError& error) {
    EXPECT_EQ(error.field(), "transform_param.mean_value");
  }
}

}  // namespace

}  // namespace cortado::data::testing
