#pragma once

// Pictures with bright rectangles, so that boxes of data layers can be compared with pixels.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/box.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {

inline constexpr int kWidth = 64, kHeight = 48;
inline constexpr uint8_t kDark = 10, kLeft = 200, kRight = 220;

class ObjectPictures : public ::testing::Test {
 protected:
  explicit ObjectPictures(const std::string& name)
      : folder_(std::filesystem::temp_directory_path() / ("cortado_" + name + "_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~ObjectPictures() override { std::filesystem::remove_all(folder_); }

  /// A dark picture with one rectangle, whose left half is slightly darker than its right half.
  void write_picture(const std::string& name, int x0, int y0, int x1, int y1) const {
    std::string pixels(size_t(kWidth) * kHeight, char(kDark));
    for (int y = y0; y < y1; ++y)
      for (int x = x0; x < x1; ++x) pixels[size_t(y * kWidth + x)] = char(2 * x < x0 + x1 ? kLeft : kRight);
    std::ofstream(folder_ / name) << "P5 " << kWidth << " " << kHeight << " 255\n" << pixels;
  }
  void write_list(const std::string& text) const { std::ofstream(folder_ / "list") << text; }

  const std::filesystem::path folder_;
};

inline float pixel(const Array& images, int64_t n, int64_t y, int64_t x) {
  return float(images.values[size_t(((n * 3) * images.shape[2] + y) * images.shape[3] + x)]);
}

inline Box box_of(const double* row) { return {float(row[1]), float(row[2]), float(row[3]), float(row[4])}; }

inline bool inside(const Box& box, float x, float y) { return x > box.x0 && x < box.x1 && y > box.y0 && y < box.y1; }

/// The bright pixels of image n are those in the box, except for `blurred` pixels around its edge.
inline void expect_box_of_bright_pixels(const Array& images, int64_t n, const Box& box, float blurred) {
  const Box inner = {box.x0 + blurred, box.y0 + blurred, box.x1 - blurred, box.y1 - blurred};
  const Box outer = {box.x0 - blurred, box.y0 - blurred, box.x1 + blurred, box.y1 + blurred};
  for (int64_t y = 0; y < images.shape[2]; ++y)
    for (int64_t x = 0; x < images.shape[3]; ++x) {
      const bool bright = pixel(images, n, y, x) > (kDark + kLeft) / 2.0f;
      const float at_x = float(x) + 0.5f, at_y = float(y) + 0.5f;
      ASSERT_TRUE(bright ? inside(outer, at_x, at_y) : !inside(inner, at_x, at_y)) << "pixel " << y << " " << x;
    }
}

}  // namespace cortado::harness
