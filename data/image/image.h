#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/sample.h"

namespace cortado::data {

/// A decoded image: height x width x channels bytes, blue-green-red where there are three.
struct Image {
  int channels = 0, height = 0, width = 0;
  std::vector<uint8_t> pixels;

  void resize(int c, int h, int w);  ///< keeps capacity; pixels are not cleared
  Sample sample() const { return {channels, height, width, pixels.data(), nullptr, true}; }
};

constexpr int64_t kMaxPixels = 89'000'000;  ///< of one image, known from its header before memory is taken
/// Of one image's file, known before memory is taken: enough for kMaxPixels of 16 bits in three channels.
constexpr int64_t kMaxImageFileBytes = int64_t(512) << 20;
constexpr const char* kImageFileTooLarge = "it is larger than 512 MiB, and image files may have no more";

/// Decodes image files in memory: JPEG by libjpeg, PNG by libpng, PNM (P5, P6) by itself, all else by OpenCV, a module
/// of its own (libcortado_opencv.so beside the program) loaded when the first such file is met. Keeps its buffers: one
/// per thread. Warnings that mean lost data (a cut-off JPEG) are errors. Images are turned as they are shown, by EXIF.
class ImageDecoder {
 public:
  ImageDecoder();
  ~ImageDecoder();
  ImageDecoder(ImageDecoder&&) noexcept;
  ImageDecoder& operator=(ImageDecoder&&) noexcept;

  /// Throws SampleError; `out` is then of no use, the decoder is.
  void decode(std::string_view file, ColorMode mode, Image& out);

  /// The same in two steps, for those who want a part. open() tells what decode() would give, without elements; then
  /// read(), while the file is still there, decodes at least the window, bit for bit as decode() would, or (where it
  /// is to be brought to at most half its size) a JPEG at 1/2, 1/4 or 1/8 of its scale. What lies below the window of a
  /// JPEG that is not cut off is not looked at, so damage there is not found. Both throw SampleError.
  Sample open(std::string_view file, ColorMode mode);
  SamplePart read(const SourceWindow& window, const PixelPlace& place);

 private:
  struct Jpeg;
  Jpeg& jpeg();

  std::unique_ptr<Jpeg> jpeg_;
  Image whole_;              ///< what open() decoded, where only all of an image can be had
  Image stored_;             ///< what decode() has to turn
  bool reads_jpeg_ = false;  ///< what open() opened is the JPEG decoder's
};

/// Reads and decodes an image file. Throws Error(kIo) if it cannot be read, SampleError if not decoded.
Image read_image(const std::string& path, ColorMode mode = ColorMode::kColor);

/// Bilinear, half-pixel centres, edges clamped, as cv::resize INTER_LINEAR (to one grey level). `out` is another image.
void resize_bilinear(const Image& image, int height, int width, Image& out);

/// Image to file content. `type` is "jpg"/"jpeg" (quality 95), or another that OpenCV knows ("png"). Throws
/// SampleError.
std::string encode_image(const Image& image, const std::string& type);

}  // namespace cortado::data
