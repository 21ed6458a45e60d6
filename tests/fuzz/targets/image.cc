// JPEG and PNM images, decoded in full and in part. The first four bytes select the part.
#include "data/image/image.h"

#include "data/image/jpeg.h"
#include "tests/fuzz/fuzzed.h"

namespace {

constexpr int64_t kMaxDecoded = 1 << 20;

}  // namespace

void cortado::fuzz::fuzz(std::string_view input) {
  using namespace data;
  if (input.size() < 5) return;
  const auto byte = [&](size_t i) { return int(static_cast<unsigned char>(input[i])); };
  const std::string_view file = input.substr(4);
  if (!is_jpeg(file) && file[0] != 'P') return;
  static ImageDecoder decoder;
  const ColorMode mode = ColorMode(byte(0) % 3);
  expect_answer([&] {
    const Sample whole = decoder.open(file, mode);
    if (whole.count() > kMaxDecoded || whole.height < 1 || whole.width < 1) return;
    const int top = byte(1) * whole.height / 256, left = byte(2) * whole.width / 256;
    const int height = 1 + byte(3) * (whole.height - top - 1) / 256,
              width = 1 + byte(0) * (whole.width - left - 1) / 256;
    std::vector<uint8_t> pixels;
    decoder.read({top, left, height, width, 1 + height / (1 + byte(1) % 4), 1 + width / (1 + byte(2) % 4)},
                 [&](size_t bytes) {
                   pixels.resize(bytes);
                   return pixels.data();
                 });
    Image image;
    decoder.decode(file, mode, image);
    Image small;
    resize_bilinear(image, 1 + byte(1) % 32, 1 + byte(2) % 32, small);
  });
}
