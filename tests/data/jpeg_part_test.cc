// Windows of JPEGs against the same rectangles of the whole image, for every chroma subsampling that cameras write.
#include "tests/data/jpeg_kinds.h"

namespace cortado::data::testing {

namespace {

/// The decoded window, in memory of its own.
struct Got {
  SamplePart part;
  std::vector<uint8_t> pixels;
};

Got read_window(ImageDecoder& decoder, const std::string& file, const SourceWindow& window, ColorMode mode) {
  Got got;
  decoder.open(file, mode);
  got.part = decoder.read(window, [&](size_t bytes) {
    got.pixels.resize(bytes);
    return got.pixels.data();
  });
  return got;
}

bool covers(const SourcePart& part, const SourceWindow& window) {
  return part.top <= window.top && part.left <= window.left && part.top + part.height >= window.top + window.height &&
         part.left + part.width >= window.left + window.width;
}

/// Whether the window's pixels equal the whole image's.
bool equal_inside(const Got& got, const Image& whole, const SourceWindow& window) {
  const SamplePart& part = got.part;
  for (int y = window.top; y < window.top + window.height; ++y) {
    const size_t at = (size_t(y - part.part.top) * size_t(part.sample.width) + size_t(window.left - part.part.left));
    const size_t in = size_t(y) * size_t(whole.width) + size_t(window.left), channels = size_t(whole.channels);
    if (!std::equal(got.pixels.begin() + long(at * channels),
                    got.pixels.begin() + long((at + size_t(window.width)) * channels),
                    whole.pixels.begin() + long(in * channels)))
      return false;
  }
  return true;
}

SourceWindow random_window(RandomStream& random, int height, int width) {
  SourceWindow window;
  window.height = 1 + int(random.below(uint64_t(height)));
  window.width = 1 + int(random.below(uint64_t(width)));
  window.top = int(random.below(uint64_t(height - window.height + 1)));
  window.left = int(random.below(uint64_t(width - window.width + 1)));
  window.out_height = window.height;
  window.out_width = window.width;
  return window;
}

TEST(JpegPart, EqualsTheWholeImage) {
  RandomStream random{3};
  ImageDecoder decoder;
  for (const Kind& kind : kKinds)
    for (int image = 0; image < 12; ++image) {
      const int height = 1 + int(random.below(180)), width = 1 + int(random.below(260));
      const std::string file = encode(textured(random, kind.components, height, width), kind);
      Image whole;
      decoder.decode(file, ColorMode::kAsStored, whole);
      for (int i = 0; i < 25; ++i) {
        const SourceWindow window = random_window(random, height, width);
        const Got got = read_window(decoder, file, window, ColorMode::kAsStored);
        ASSERT_TRUE(covers(got.part.part, window));
        ASSERT_EQ(got.part.part.height, got.part.sample.height);
        ASSERT_TRUE(equal_inside(got, whole, window))
            << kind.name << " " << height << "x" << width << ", window " << window.top << "," << window.left << " "
            << window.height << "x" << window.width;
      }
    }
}

TEST(JpegPart, HasTheRequestedColours) {
  RandomStream random{4};
  ImageDecoder decoder;
  for (const int components : {1, 3})
    for (const ColorMode mode : {ColorMode::kColor, ColorMode::kGray}) {
      const std::string file =
          encode(textured(random, components, 90, 120), {"", components, components == 3 ? 2 : 1, 1, false});
      Image whole;
      decoder.decode(file, mode, whole);
      const SourceWindow window{20, 30, 40, 50, 40, 50};
      const Got got = read_window(decoder, file, window, mode);
      EXPECT_EQ(got.part.sample.channels, whole.channels);
      EXPECT_TRUE(equal_inside(got, whole, window));
    }
}

/// A reduced scale has nearly the averages of `whole` x `whole` pixels of the source.
TEST(JpegPart, IsReducedOnRequest) {
  Image smooth;
  smooth.resize(3, 400, 640);
  for (int y = 0; y < 400; ++y)
    for (int x = 0; x < 640; ++x)
      for (int c = 0; c < 3; ++c) smooth.pixels[size_t((y * 640 + x) * 3 + c)] = uint8_t(40 + y / 4 + x / 8 + 10 * c);
  const std::string file = encode(smooth, kKinds[0]);
  ImageDecoder decoder;
  for (const auto& [out, scale] : {std::pair{300, 1}, {151, 1}, {150, 2}, {80, 2}, {75, 4}, {37, 8}, {10, 8}}) {
    const SourceWindow window{50, 100, 300, 300, out, out};
    const Got got = read_window(decoder, file, window, ColorMode::kAsStored);
    ASSERT_TRUE(covers(got.part.part, window));
    ASSERT_EQ(got.part.part.height, got.part.sample.height * scale) << out;
    ASSERT_EQ(got.part.part.width, got.part.sample.width * scale) << out;
    for (int y = 0; y < got.part.sample.height; ++y)
      for (int x = 0; x < got.part.sample.width; ++x) {
        const double at_y = got.part.part.top + (y + 0.5) * scale - 0.5,
                     at_x = got.part.part.left + (x + 0.5) * scale - 0.5;
        ASSERT_NEAR(got.pixels[size_t((y * got.part.sample.width + x) * 3)], 40 + at_y / 4 + at_x / 8, 5);
      }
  }
}

TEST(JpegPart, OfATruncatedFileIsAnErrorForEveryWindow) {
  RandomStream random{5};
  const std::string file = encode(textured(random, 3, 200, 200), kKinds[0]);
  ImageDecoder decoder;
  for (const size_t left : {file.size() - 2, file.size() - 40, file.size() / 2})
    expect_sample_error("cannot be decoded", [&] {
      read_window(decoder, file.substr(0, left), {10, 10, 30, 30, 30, 30}, ColorMode::kAsStored);
    });
  const Got again = read_window(decoder, file, {10, 10, 30, 30, 30, 30}, ColorMode::kAsStored);
  EXPECT_EQ(again.part.sample.channels, 3);
}

}  // namespace

}  // namespace cortado::data::testing
