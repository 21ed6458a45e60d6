#include "data/image/png.h"

#include <zlib.h>

#include "tests/data/fixtures.h"

namespace cortado::data::testing {

namespace {

uint32_t number_at(const std::string& file, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | uint8_t(file[at + i]);
  return value;
}

/// The contents of the chunks by type; checks every length and CRC.
std::map<std::string, std::string> chunks_of(const std::string& file) {
  std::map<std::string, std::string> chunks;
  EXPECT_EQ(file.substr(0, 8), "\x89PNG\r\n\x1A\n");
  for (size_t at = 8; at < file.size();) {
    const size_t size = number_at(file, at);
    const std::string body = file.substr(at + 4, size + 4);
    EXPECT_EQ(::crc32(0, reinterpret_cast<const Bytef*>(body.data()), uInt(body.size())),
              number_at(file, at + 8 + size));
    chunks[body.substr(0, 4)] = body.substr(4);
    at += size + 12;
  }
  return chunks;
}

TEST(Png, HoldsThePixels) {
  for (const int channels : {1, 3}) {
    const Image image = picture(channels, 17, 23);
    auto chunks = chunks_of(encode_png(image));
    EXPECT_EQ(number_at(chunks["IHDR"], 0), 23u);
    EXPECT_EQ(number_at(chunks["IHDR"], 4), 17u);
    EXPECT_EQ(chunks["IHDR"].substr(8), (std::string{8, char(channels == 3 ? 2 : 0), 0, 0, 0}));
    const size_t row_bytes = size_t(23 * channels);
    std::string rows(17 * (row_bytes + 1), '\0');
    uLongf size = uLongf(rows.size());
    ASSERT_EQ(::uncompress(reinterpret_cast<Bytef*>(rows.data()), &size,
                           reinterpret_cast<const Bytef*>(chunks["IDAT"].data()), uLong(chunks["IDAT"].size())),
              Z_OK);
    ASSERT_EQ(size, rows.size());
    std::vector<uint8_t> above(row_bytes, 0);
    for (size_t y = 0; y < 17; ++y) {
      ASSERT_EQ(rows[y * (row_bytes + 1)], 2);  // the difference to the row above
      for (size_t i = 0; i < row_bytes; ++i) {
        above[i] = uint8_t(above[i] + uint8_t(rows[y * (row_bytes + 1) + 1 + i]));
        const size_t in = channels == 3 ? i + 2 - 2 * (i % 3) : i;  // red first
        ASSERT_EQ(above[i], image.pixels[y * row_bytes + in]);
      }
    }
  }
}

TEST(Png, TakesOneOrThreeChannels) {
  expect_sample_error("2 channels", [] { encode_png(picture(2, 4, 4)); });
}

}  // namespace

}  // namespace cortado::data::testing
