// Every decoder, and every way to call it, in all eight EXIF orientations, against the image as displayed.
#include "data/image/orientation.h"

#include "data/convert/convert.h"
#include "data/formats/datum.h"
#include "data/image/png.h"
#include "data/sources/datum_reader.h"
#include "proto/cortado.pb.h"
#include "tests/data/exif_files.h"
#include "tests/data/fixtures.h"

namespace cortado::data::testing {

namespace {

/// A TIFF block with a resolution unit and an orientation.
std::string exif_block(int orientation, bool high_first) {
  const auto number = [&](uint32_t value, int n) { return number_of(value, n, high_first); };
  const auto entry = [&](uint32_t tag, uint32_t value) {
    return number(tag, 2) + number(3, 2) + number(1, 4) + number(value, 2) + number(0, 2);
  };
  return (high_first ? "MM" : "II") + number(42, 2) + number(8, 4) + number(2, 2) +
         entry(0x0112, uint32_t(orientation)) + entry(0x0128, 2) + number(0, 4);
}

/// The extended WebP format: a VP8X chunk with the EXIF flag, the image, EXIF.
std::string webp_with(const std::string& file, const std::string& block, int height, int width) {
  const auto chunk = [](const std::string& type, const std::string& content) {
    return type + number_of(uint32_t(content.size()), 4, false) + content + std::string(content.size() % 2, '\0');
  };
  const std::string size = number_of(uint32_t(width - 1), 3, false) + number_of(uint32_t(height - 1), 3, false);
  const std::string body =
      "WEBP" + chunk("VP8X", number_of(8, 4, false) + size) + file.substr(12) + chunk("EXIF", block);
  return "RIFF" + number_of(uint32_t(body.size()), 4, false) + body;
}

/// A TIFF of one uncompressed strip.
std::string tiff_of(const Image& image, int orientation) {
  const auto number = [](size_t value, int n) { return number_of(uint32_t(value), n, false); };
  constexpr size_t kEntries = 10, kBits = 8 + 2 + kEntries * 12 + 4, kPixels = kBits + 6;
  const auto entry = [&](size_t tag, size_t type, size_t count, size_t value) {
    return number(tag, 2) + number(type, 2) + number(count, 4) + number(value, 4);
  };
  std::string pixels;
  for (size_t i = 0; i < image.pixels.size(); ++i) pixels += char(image.pixels[i + 2 - 2 * (i % 3)]);
  return "II" + number(42, 2) + number(8, 4) + number(kEntries, 2) + entry(256, 3, 1, size_t(image.width)) +
         entry(257, 3, 1, size_t(image.height)) + entry(258, 3, 3, kBits) + entry(259, 3, 1, 1) + entry(262, 3, 1, 2) +
         entry(273, 4, 1, kPixels) + entry(274, 3, 1, size_t(orientation)) + entry(277, 3, 1, 3) +
         entry(278, 3, 1, size_t(image.height)) + entry(279, 4, 1, pixels.size()) + number(0, 4) + number(8, 2) +
         number(8, 2) + number(8, 2) + pixels;
}

/// The displayed position of a stored pixel; the comments have EXIF's positions of the first row and column.
struct PixelAt {
  int y, x;
};
PixelAt shown_at(int row, int column, int height, int width, int orientation) {
  switch (orientation) {
    case 2:
      return {row, width - 1 - column};  // top, right
    case 3:
      return {height - 1 - row, width - 1 - column};  // bottom, right
    case 4:
      return {height - 1 - row, column};  // bottom, left
    case 5:
      return {column, row};  // left, top
    case 6:
      return {column, width - 1 - row};  // right, top
    case 7:
      return {height - 1 - column, width - 1 - row};  // right, bottom
    case 8:
      return {height - 1 - column, row};  // left, bottom
    default:
      return {row, column};  // top, left
  }
}

/// The stored image as displayed, pixel by pixel.
Image shown(const Image& stored, int orientation) {
  Image image;
  const bool lies = orientation >= 5;
  image.resize(stored.channels, lies ? stored.width : stored.height, lies ? stored.height : stored.width);
  const size_t channels = size_t(stored.channels);
  for (int row = 0; row < stored.height; ++row)
    for (int column = 0; column < stored.width; ++column) {
      const PixelAt at = shown_at(row, column, image.height, image.width, orientation);
      for (size_t c = 0; c < channels; ++c)
        image.pixels[size_t(at.y * image.width + at.x) * channels + c] =
            stored.pixels[size_t(row * stored.width + column) * channels + c];
    }
  return image;
}

struct EncodedFile {
  std::string name, file;
};

/// The stored image with its orientation, in each format.
std::vector<EncodedFile> files_of(const Image& stored, int orientation) {
  const std::string little = exif_block(orientation, false), big = exif_block(orientation, true);
  const std::string jpeg = encode_image(stored, "jpg"), png = encode_image(stored, "png");
  const std::string webp = encode_image(stored, "webp");
  return {{"a.jpg", jpeg_with(jpeg, little)},
          {"b.jpg", jpeg_with(jpeg, big)},
          {"c.png", png_with(png, little)},
          {"d.webp", webp_with(webp, big, stored.height, stored.width)},
          {"e.tif", tiff_of(stored, orientation)}};
}

Image decoded_file(const std::string& file, ColorMode mode) {
  Image image;
  ImageDecoder().decode(file, mode, image);
  return image;
}

void expect_equal(const Image& image, const Image& reference, const std::string& what) {
  ASSERT_EQ(image.sample().shape_str(), reference.sample().shape_str()) << what;
  EXPECT_EQ(image.pixels, reference.pixels) << what;
}

/// The upper right quarter, decoded as a part.
void expect_part(const std::string& file, const Image& reference, const std::string& what) {
  ImageDecoder decoder;
  const Sample opened = decoder.open(file, ColorMode::kColor);
  ASSERT_EQ(opened.shape_str(), reference.sample().shape_str()) << what;
  const int height = reference.height / 2, width = reference.width / 2;
  std::vector<uint8_t> pixels;
  const SamplePart part = decoder.read({0, reference.width - width, height, width, height, width}, [&](size_t n) {
    pixels.resize(n);
    return pixels.data();
  });
  for (int y = 0; y < height; ++y)
    for (int x = reference.width - width; x < reference.width; ++x)
      for (int c = 0; c < 3; ++c) {
        const int row = y - part.part.top, column = x - part.part.left;
        ASSERT_EQ(pixels[size_t((row * part.sample.width + column) * 3 + c)],
                  reference.pixels[size_t((y * reference.width + x) * 3 + c)])
            << what;
      }
}

TEST(Orientation, IsReadFromTruncatedFiles) {
  for (const auto& [name, file] : files_of(picture(3, 6, 8), 6)) {
    for (size_t size = 0; size < file.size(); ++size) {
      const int orientation = exif_orientation(std::string_view(file).substr(0, size));
      EXPECT_TRUE(orientation == 1 || orientation == 6) << name << ", " << size << " bytes";
    }
  }
}

TEST(Orientation, IsAppliedByEveryDecoder) {
  const Image stored = picture(3, 18, 26);
  for (int orientation = 1; orientation <= 8; ++orientation)
    for (const auto& [name, file] : files_of(stored, orientation)) {
      const std::string what = name + " in orientation " + std::to_string(orientation);
      const bool jpeg = name.ends_with(".jpg");
      const Image kept = jpeg ? decoded_file(encode_image(stored, "jpg"), ColorMode::kColor) : stored;
      const Image reference = shown(kept, orientation);
      expect_equal(decoded_file(file, ColorMode::kColor), reference, what);
      expect_equal(decoded_file(file, ColorMode::kAsStored), reference, what + ", as stored");
      EXPECT_EQ(decoded_file(file, ColorMode::kGray).height, reference.height) << what;
      expect_part(file, reference, what);
      if (jpeg) {
        EXPECT_EQ(is_plain_jpeg(file), orientation == 1) << what;  // a GPU may decode it
      }
    }
}

TEST(Orientation, IsAppliedByConversionsAndInRecordsOfFiles) {
  const Image stored = picture(3, 18, 26);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Folder folder;
    const std::vector<EncodedFile> files = files_of(stored, orientation);
    std::string list;
    for (const auto& [name, file] : files) {
      write_file(folder / name, file);
      list += name + " 0\n";
    }
    write_file(folder / "list", list);
    for (const bool encoded : {false, true}) {
      ImagesetOptions options;
      options.root = folder / "";
      options.list = folder / "list";
      options.output = folder / (encoded ? "encoded" : "raw");
      options.encoded = encoded;
      const ConvertReport report = convert_imageset(options);
      ASSERT_TRUE(report.kept);
      EXPECT_EQ(report.most_height, orientation >= 5 ? 26 : 18);
      for (const auto& [key, value] : read_with_library(options.output)) {
        DatumReader reader(ColorMode::kColor);
        Label label;
        const Sample sample = reader.open({key, value}, label);
        EXPECT_EQ(sample.shape_str(), orientation >= 5 ? "3x26x18" : "3x18x26") << key;
      }
    }
  }
}

TEST(Orientation, OfADamagedBlockIsIgnored) {
  const Image stored = picture(3, 18, 26);
  const std::string jpeg = encode_image(stored, "jpg"), png = encode_image(stored, "png");
  const std::string webp = encode_image(stored, "webp"), block = exif_block(6, false);
  const auto decode_all = [&](const std::string& damaged) {
    for (const std::string& file :
         {jpeg_with(jpeg, damaged), png_with(png, damaged), webp_with(webp, damaged, 18, 26)}) {
      const Image image = decoded_file(file, ColorMode::kColor);
      EXPECT_EQ(image.height * image.width, 18 * 26);
    }
  };
  for (size_t keep = 0; keep < block.size(); ++keep) decode_all(block.substr(0, keep));
  for (size_t at = 0; at < block.size(); ++at)
    for (const char change : {'\x00', '\x7f', '\xff'}) {
      std::string changed = block;
      changed[at] = change;
      decode_all(changed);
    }
  EXPECT_EQ(exif_orientation(jpeg_with(jpeg, exif_block(9, true))), 1);
  EXPECT_EQ(exif_orientation(jpeg_with(jpeg, exif_block(0, true))), 1);
  std::string sum_is_wrong = png_with(png, block);
  sum_is_wrong[8 + 25 + 8 + block.size()] ^= 1;
  EXPECT_EQ(exif_orientation(sum_is_wrong), 1);
}

}  // namespace

}  // namespace cortado::data::testing
