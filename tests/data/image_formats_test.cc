#include "data/image/image_formats.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "data/image/image.h"

namespace cortado::data {
namespace {

TEST(ImageFormats, AreRecognisedByContentAndName) {
  Image image;
  for (const ImageFormat& format : image_formats()) {
    for (const std::string& ending : format.endings) {
      EXPECT_TRUE(is_image_name("a/PHOTO" + ending)) << ending;
      EXPECT_EQ(is_served_image_name("x" + ending), format.is_served) << ending;
    }
    const std::string type = format.endings[0].substr(1);
    if (type == "gif") continue;  // OpenCV 4.6 has no encoder
    image.resize(type == "pgm" ? 1 : 3, 64, 70);
    const std::string file = encode_image(image, type);
    ASSERT_NE(image_format_of(file), nullptr) << type;
    EXPECT_STREQ(image_format_of(file)->name, format.name);
    EXPECT_EQ(is_served_image(file), format.is_served) << type;
    Image decoded;
    ImageDecoder().decode(file, ColorMode::kAsStored, decoded);
    EXPECT_EQ(decoded.width, 70) << type;
  }
}

TEST(ImageFormats, OthersAreNone) {
  for (const char* name : {"photo.txt", "jpg", "photo.jpg.txt", ""}) EXPECT_FALSE(is_image_name(name)) << name;
  for (const char* file : {"", "P", "RIFF....WAVE", "<svg>", "P4 bitmap"})
    EXPECT_EQ(image_format_of(file), nullptr) << file;
  EXPECT_EQ(served_image_formats(), "JPEG, PNG, WebP, BMP, PGM or PPM");
}

}  // namespace
}  // namespace cortado::data
