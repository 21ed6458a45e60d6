#include "data/image/image.h"

#include <cmath>

#include "tests/data/fixtures.h"

namespace cortado::data::testing {

namespace {

double mean_difference(const Image& a, const Image& b) {
  EXPECT_EQ(a.sample().shape_str(), b.sample().shape_str());
  double sum = 0;
  for (size_t i = 0; i < std::min(a.pixels.size(), b.pixels.size()); ++i) sum += std::abs(a.pixels[i] - b.pixels[i]);
  return sum / double(a.pixels.size());
}

Image decoded(const std::string& file, ColorMode mode = ColorMode::kAsStored) {
  Image image;
  ImageDecoder().decode(file, mode, image);
  return image;
}

Image gray_of(const Image& image) {
  Image gray;
  gray.resize(1, image.height, image.width);
  for (size_t i = 0; i < gray.pixels.size(); ++i) {
    const uint8_t* bgr = &image.pixels[3 * i];
    gray.pixels[i] = uint8_t(std::lround(0.114 * bgr[0] + 0.587 * bgr[1] + 0.299 * bgr[2]));
  }
  return gray;
}

TEST(Jpeg, IsDecodedToBlueGreenRed) {
  const Image image = picture(3, 40, 56);
  EXPECT_LT(mean_difference(decoded(encode_image(image, "jpg")), image), 6);
  Image red;  // one colour: the only loss is rounding
  red.resize(3, 16, 16);
  for (size_t i = 0; i < red.pixels.size(); i += 3) red.pixels[i + 2] = 255;
  EXPECT_LT(mean_difference(decoded(encode_image(red, "jpg")), red), 2);
}

TEST(Jpeg, KeepsOrForcesColour) {
  const Image color = picture(3, 24, 24), gray = picture(1, 24, 24);
  const std::string color_file = encode_image(color, "jpg"), gray_file = encode_image(gray, "jpg");
  EXPECT_EQ(decoded(color_file).channels, 3);
  EXPECT_EQ(decoded(gray_file).channels, 1);
  EXPECT_LT(mean_difference(decoded(gray_file), gray), 4);
  EXPECT_LT(mean_difference(decoded(color_file, ColorMode::kGray), gray_of(decoded(color_file))), 1.5);
  const Image forced = decoded(gray_file, ColorMode::kColor);
  ASSERT_EQ(forced.channels, 3);
  for (size_t i = 0; i < forced.pixels.size(); i += 3) ASSERT_EQ(forced.pixels[i], forced.pixels[i + 2]);
}

TEST(Jpeg, TruncationIsAnErrorAtEveryLength) {
  const std::string file = encode_image(picture(3, 32, 32), "jpg");
  ImageDecoder decoder;
  Image image;
  for (size_t keep = 0; keep + 2 < file.size(); ++keep)  // the last two bytes are the end marker
    EXPECT_THROW(decoder.decode(std::string_view(file).substr(0, keep), ColorMode::kAsStored, image), SampleError)
        << keep;
  decoder.decode(file, ColorMode::kAsStored, image);  // the decoder is usable after an error
  EXPECT_EQ(image.height, 32);
}

TEST(Jpeg, FlippedBitsNeverCrash) {
  const std::string file = encode_image(picture(3, 48, 48), "jpg");
  RandomStream random(1);
  ImageDecoder decoder;
  Image image;
  int errors = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = file;
    for (uint64_t flips = 1 + random.below(6); flips > 0; --flips)
      damaged[3 + random.below(file.size() - 3)] ^= char(1 << random.below(8));
    try {
      decoder.decode(damaged, ColorMode::kColor, image);
    } catch (const SampleError&) {
      ++errors;
    }
  }
  EXPECT_GT(errors, 300);
}

TEST(Jpeg, HugeSizesAreRefusedBeforeAllocation) {
  std::string file = encode_image(picture(3, 16, 16), "jpg");
  const size_t frame = file.find("\xFF\xC0");
  ASSERT_NE(frame, std::string::npos);
  for (const size_t at : {5, 6, 7, 8}) file[frame + at] = char(0xF0);  // height and width: 61680 each
  expect_sample_error("61680x61680, too large", [&] { decoded(file); });
}

TEST(Image, ReadsPnm) {
  const Image gray = decoded("P5\n# a comment\n3 2\n255\nabcdef");
  EXPECT_EQ(gray.sample().shape_str(), "1x2x3");
  EXPECT_EQ(gray.pixels[5], 'f');
  const Image color = decoded("P6 1 2 255\nRGBrgb");
  EXPECT_EQ(std::string(color.pixels.begin(), color.pixels.end()), "BGRbgr");
  expect_sample_error("truncated", [] { decoded("P6 1 2 255\nRGBrg"); });
  expect_sample_error("header", [] { decoded("P6 1 "); });
  expect_sample_error("is not 255", [] { decoded("P5 1 1 65535\nab"); });
  expect_sample_error("PNM is", [] { decoded("P5 0 7 255\n"); });
  Image claimed;
  expect_sample_error("truncated", [&] { ImageDecoder().decode("P6 9000 9000 255\n", ColorMode::kColor, claimed); });
  EXPECT_TRUE(claimed.pixels.empty()) << "memory was allocated for pixels that the file does not have";
  expect_sample_error("PNM is", [] { decoded("P5 9999999 9999999 255\n"); });
}

TEST(Image, OpenCvDecodesOtherFormats) {
  if (!file_exists(std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libcortado_opencv.so"))
    GTEST_SKIP() << "built without OpenCV";
  const Image color = picture(3, 20, 30), gray = picture(1, 20, 30);
  EXPECT_EQ(mean_difference(decoded(encode_image(color, "png")), color), 0);
  EXPECT_EQ(mean_difference(decoded(encode_image(gray, "png")), gray), 0);
  EXPECT_EQ(decoded(encode_image(gray, "png"), ColorMode::kColor).channels, 3);
  EXPECT_LT(mean_difference(decoded(encode_image(color, "png"), ColorMode::kGray), gray_of(color)), 1.5);
  expect_sample_error("cannot be decoded", [] { decoded("no image at all"); });
  expect_sample_error("cannot be encoded", [&] { encode_image(color, "nonsense"); });
  std::string huge = encode_image(gray, "png");
  for (const size_t at : {17, 18, 21, 22}) huge[at] = char(0x7F);  // width and height in the header
  EXPECT_THROW(decoded(huge), SampleError);
}

/// The definition, pixel by pixel in double precision.
double reference_at(const Image& image, double y, double x, int c) {
  y = std::min(std::max(y, 0.0), double(image.height - 1));
  x = std::min(std::max(x, 0.0), double(image.width - 1));
  const int y0 = int(y), x0 = int(x), y1 = std::min(y0 + 1, image.height - 1), x1 = std::min(x0 + 1, image.width - 1);
  const auto at = [&](int row, int column) {
    return double(image.pixels[size_t((row * image.width + column) * image.channels + c)]);
  };
  return (1 - (y - y0)) * ((1 - (x - x0)) * at(y0, x0) + (x - x0) * at(y0, x1)) +
         (y - y0) * ((1 - (x - x0)) * at(y1, x0) + (x - x0) * at(y1, x1));
}

TEST(Resize, IsBilinearWithHalfPixelCentres) {
  for (const int channels : {1, 3})
    for (const auto& [height, width] : {std::pair{64, 80}, {20, 33}, {37, 53}, {7, 5}, {1, 1}, {37, 1}}) {
      const Image image = picture(channels, 37, 53);
      Image out;
      resize_bilinear(image, height, width, out);
      ASSERT_EQ(out.sample().shape_str(),
                std::to_string(channels) + "x" + std::to_string(height) + "x" + std::to_string(width));
      for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
          for (int c = 0; c < channels; ++c)
            ASSERT_NEAR(out.pixels[size_t((y * width + x) * channels + c)],
                        reference_at(image, (y + 0.5) * 37 / height - 0.5, (x + 0.5) * 53 / width - 0.5, c), 0.51);
    }
}

TEST(Resize, SameSizeChangesNothing) {
  const Image image = picture(3, 31, 17);
  Image out;
  resize_bilinear(image, 31, 17, out);
  EXPECT_EQ(out.pixels, image.pixels);
}

}  // namespace

}  // namespace cortado::data::testing
