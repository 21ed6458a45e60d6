// JPEGs of four inks, as printing programs write them.
#include "data/image/image.h"
#include "tests/data/jpeg_kinds.h"

namespace cortado::data::testing {

namespace {

const Kind kInks = {"CMYK", 4, 1, 1, false};

/// The light that the inks let through: cyan absorbs red, magenta green, yellow blue, black all.
Image light_of(const Image& inks) {
  Image image;
  image.resize(3, inks.height, inks.width);
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    const uint8_t* ink = &inks.pixels[i / 3 * 4];
    const double passed = (1 - ink[2 - i % 3] / 255.0) * (1 - ink[3] / 255.0);
    image.pixels[i] = uint8_t(std::lround(255 * passed));
  }
  return image;
}

void expect_near(const Image& image, const Image& expected, int tolerance) {
  ASSERT_EQ(image.sample().shape_str(), expected.sample().shape_str());
  for (size_t i = 0; i < image.pixels.size(); ++i) ASSERT_NEAR(image.pixels[i], expected.pixels[i], tolerance) << i;
}

/// Areas of one colour, which JPEG keeps to the rounding.
Image inks_in_areas() {
  Image inks;
  inks.resize(4, 16, 32);
  const uint8_t colors[4][4] = {{255, 0, 0, 0}, {0, 200, 30, 60}, {10, 20, 240, 0}, {0, 0, 0, 128}};
  for (size_t i = 0; i < inks.pixels.size(); ++i) inks.pixels[i] = colors[i / 4 % 32 / 8][i % 4];
  return inks;
}

TEST(Cmyk, IsDecodedToLight) {
  const Image inks = inks_in_areas(), expected = light_of(inks);
  Image stored = inks;
  for (const bool inverted : {false, true}) {
    if (inverted)
      for (uint8_t& value : stored.pixels) value = uint8_t(255 - value);
    Image image;
    ImageDecoder().decode(encode(stored, kInks, inverted), ColorMode::kAsStored, image);
    expect_near(image, expected, 4);
    ImageDecoder().decode(encode(stored, kInks, inverted), ColorMode::kGray, image);
    EXPECT_EQ(image.channels, 1);
    const double gray = 0.114 * expected.pixels[0] + 0.587 * expected.pixels[1] + 0.299 * expected.pixels[2];
    EXPECT_NEAR(image.pixels[0], gray, 4);
  }
}

TEST(Cmyk, APartEqualsTheWhole) {
  const std::string file = encode(inks_in_areas(), kInks, true);
  Image whole;
  ImageDecoder().decode(file, ColorMode::kColor, whole);
  ImageDecoder decoder;
  ASSERT_EQ(decoder.open(file, ColorMode::kColor).shape_str(), whole.sample().shape_str());
  std::vector<uint8_t> pixels;
  const SamplePart part = decoder.read({2, 9, 5, 7, 5, 7}, [&](size_t bytes) {
    pixels.resize(bytes);
    return pixels.data();
  });
  for (int y = 2; y < 7; ++y)
    for (int x = 9; x < 16; ++x)
      for (int c = 0; c < 3; ++c) {
        const int row = y - part.part.top, column = x - part.part.left;
        ASSERT_EQ(pixels[size_t((row * part.sample.width + column) * 3 + c)],
                  whole.pixels[size_t((y * whole.width + x) * 3 + c)]);
      }
}

}  // namespace

}  // namespace cortado::data::testing
