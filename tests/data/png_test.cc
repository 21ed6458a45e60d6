#include "data/image/png.h"

#include <zlib.h>

#include "data/image/image_module.h"
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

std::string big_endian(uint32_t value) { return {char(value >> 24), char(value >> 16), char(value >> 8), char(value)}; }

std::string chunk(const std::string& type, const std::string& content) {
  const std::string body = type + content;
  const auto crc = ::crc32(0, reinterpret_cast<const Bytef*>(body.data()), uInt(body.size()));
  return big_endian(uint32_t(content.size())) + body + big_endian(uint32_t(crc));
}

std::string packed(const std::string& bytes) {
  uLongf size = ::compressBound(uLong(bytes.size()));
  std::string out(size, '\0');
  ::compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
             uLong(bytes.size()));
  out.resize(size);
  return out;
}

/// A PNG format, and chunks between the header and the pixels.
struct PngForm {
  int type, bits, interlaced;
  std::string more;
};

constexpr uint32_t kHigh = 11, kWide = 13;

/// Rows of random elements; of each of the seven passes if the PNG is interlaced.
std::string png_of(const PngForm& form) {
  struct Pass {
    uint32_t x, y, dx, dy;
  };
  const std::vector<Pass> whole = {{0, 0, 1, 1}}, passes = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                                            {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
  const size_t samples = form.type == 2 ? 3 : form.type == 4 ? 2 : form.type == 6 ? 4 : 1;
  RandomStream random(uint64_t(form.type * 100 + form.bits));
  std::string rows;
  for (const Pass& pass : form.interlaced != 0 ? passes : whole)
    for (uint32_t y = pass.y; y < kHigh; y += pass.dy) {
      const size_t pixels = (kWide - pass.x + pass.dx - 1) / pass.dx;
      rows += '\0';
      for (size_t i = 0; i < (pixels * samples * size_t(form.bits) + 7) / 8; ++i) rows += char(random.below(256));
    }
  std::string palette;
  for (int i = 0; form.type == 3 && i < 3 << form.bits; ++i) palette += char(random.below(256));
  return "\x89PNG\r\n\x1A\n" +
         chunk("IHDR", big_endian(kWide) + big_endian(kHigh) +
                           std::string{char(form.bits), char(form.type), 0, 0, char(form.interlaced)}) +
         (form.more.find("tRNS") == std::string::npos ? form.more : "") +
         (palette.empty() ? "" : chunk("PLTE", palette)) +
         (form.more.find("tRNS") == std::string::npos ? "" : form.more) + chunk("IDAT", packed(rows)) +
         chunk("IEND", "");
}

/// A colour profile that libpng warns about.
std::string wrong_profile() {
  return chunk("iCCP", std::string("name\0\0", 6) + packed(big_endian(128) + std::string(124, '\0')));
}

std::vector<PngForm> all_forms() {
  const std::map<int, std::vector<int>> depths = {
      {0, {1, 2, 4, 8, 16}}, {2, {8, 16}}, {3, {1, 2, 4, 8}}, {4, {8, 16}}, {6, {8, 16}}};
  std::vector<PngForm> forms;
  for (const auto& [type, bits_of_type] : depths)
    for (const int bits : bits_of_type)
      for (const int interlaced : {0, 1}) {
        std::vector<std::string> more = {"", chunk("gAMA", big_endian(55556)), chunk("sRGB", std::string(1, '\0')),
                                         wrong_profile()};
        if (type == 0) more.push_back(chunk("tRNS", std::string(2, '\1')));
        if (type == 2) more.push_back(chunk("tRNS", std::string(6, '\1')));
        if (type == 3) more.push_back(chunk("tRNS", std::string("\0\x80", 2)));
        for (const std::string& one : more) forms.push_back({type, bits, interlaced, one});
      }
  return forms;
}

/// A decoder's result: "3x11x13 ..." and the pixels, or "refused".
template <typename Decode>
std::string result_of(const Decode& decode) {
  Image image;
  try {
    decode(image);
  } catch (const SampleError&) {
    return "refused";
  }
  return image.sample().shape_str() + " " + std::string(image.pixels.begin(), image.pixels.end());
}

TEST(Png, IsReadAsByOpenCv) {
  try {
    Image image;
    decode_with_module(png_of({2, 8, 0, ""}), ColorMode::kColor, image);
  } catch (const SampleError& error) {
    GTEST_SKIP() << error.what();
  }
  ::testing::internal::CaptureStderr();  // OpenCV lets libpng warn there
  int compared = 0;
  for (const PngForm& form : all_forms())
    for (const ColorMode mode : {ColorMode::kAsStored, ColorMode::kColor, ColorMode::kGray}) {
      const std::string file = png_of(form);
      const std::string ours = result_of([&](Image&image) { decode_png(file, mode, image); }),
                        theirs = result_of([&](Image&image) { decode_with_module(file, mode, image); });
      EXPECT_TRUE(ours == theirs) << "type " << form.type << ", " << form.bits << " bits, interlaced "
                                  << form.interlaced << ", mode " << int(mode) << ", " << form.more.substr(4, 4) << ": "
                                  << ours.substr(0, 8) << " and " << theirs.substr(0, 8);
      compared += ours != "refused";
    }
  ::testing::internal::GetCapturedStderr();
  EXPECT_GT(compared, 300);
}

TEST(Png, AWrongColourProfileIsIgnored) {
  ::testing::internal::CaptureStderr();
  Image image;
  ImageDecoder().decode(png_of({2, 8, 0, wrong_profile()}), ColorMode::kColor, image);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Png, DamageIsAnError) {
  const std::string file = png_of({2, 8, 1, ""});
  Image image;
  for (size_t size = 8; size < file.size(); ++size)
    EXPECT_THROW(decode_png(file.substr(0, size), ColorMode::kColor, image), SampleError) << size;
  for (size_t at = 8; at < file.size(); ++at) {
    std::string damaged = file;
    damaged[at] = char(damaged[at] ^ 0x11);
    result_of([&](Image& out) { decode_png(damaged, ColorMode::kAsStored, out); });
  }
  std::string large = file;
  large.replace(8, 25, chunk("IHDR", big_endian(99999) + big_endian(99999) + std::string("\x08\2\0\0\0", 5)));
  Image claimed;
  expect_sample_error("99999x99999, too large", [&] { decode_png(large, ColorMode::kColor, claimed); });
  EXPECT_TRUE(claimed.pixels.empty());
}

TEST(Png, TakesOneOrThreeChannels) {
  expect_sample_error("2 channels", [] { encode_png(picture(2, 4, 4)); });
}

}  // namespace

}  // namespace cortado::data::testing
