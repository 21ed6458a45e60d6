#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/sample.h"

namespace cortado::data {

/// A decoded image: height x width x channels bytes, blue-green-red if there are three.
struct Image {
  int channels = 0, height = 0, width = 0;
  std::vector<uint8_t> pixels;

  void resize(int c, int h, int w);  ///< keeps capacity; pixels are not cleared
  Sample sample() const { return {channels, height, width, pixels.data(), nullptr, true}; }
};

constexpr int64_t kMaxPixels = 89'000'000;  ///< of one image; checked in its header before memory is allocated
/// Of one image file, checked before memory is allocated: enough for kMaxPixels with three channels of 16 bits.
constexpr int64_t kMaxImageFileBytes = int64_t(512) << 20;
constexpr const char* kImageFileTooLarge = "it is larger than 512 MiB, the limit for image files";

/// Decodes image files in memory: JPEG by libjpeg, PNG by libpng, PNM (P5, P6) by its own code. Other formats use
/// OpenCV in a separate module (libcortado_opencv.so next to the program), which is loaded with the first such file.
/// Reuses its buffers; create one per thread. Warnings that mean lost data (a truncated JPEG) are errors. EXIF
/// orientation is applied.
class ImageDecoder {
 public:
  ImageDecoder();
  ~ImageDecoder();
  ImageDecoder(ImageDecoder&&) noexcept;
  ImageDecoder& operator=(ImageDecoder&&) noexcept;

  /// Throws SampleError; the content of `out` is then unspecified, but the decoder remains usable.
  void decode(std::string_view file, ColorMode mode, Image& out);

  /// The same in two steps, to decode only a part. open() returns the result of decode() without elements. Then read()
  /// decodes at least the window, while `file` is still valid, with the same bits as decode(). If the window is to be
  /// resized to at most half its size, a JPEG may be decoded at 1/2, 1/4 or 1/8 of its scale. The rows below the window
  /// of a JPEG that is not truncated are not decoded, so damage there is not detected. Both throw SampleError.
  Sample open(std::string_view file, ColorMode mode);
  SamplePart read(const SourceWindow& window, const PixelPlace& place);

 private:
  struct Jpeg;
  Jpeg& jpeg();

  std::unique_ptr<Jpeg> jpeg_;
  Image whole_;              ///< the image from open(), if it had to be decoded as a whole
  Image stored_;             ///< the image before decode() rotates it
  bool reads_jpeg_ = false;  ///< open() opened a file of the JPEG decoder
};

/// Reads and decodes an image file. Throws Error(kIo) if it cannot be read, SampleError if not decoded.
Image read_image(const std::string& path, ColorMode mode = ColorMode::kColor);

/// Bilinear, half-pixel centres, edges clamped, like cv::resize INTER_LINEAR (to one grey level). `out` must be another
/// image.
void resize_bilinear(const Image& image, int height, int width, Image& out);

/// Encodes an image as a file. `type` is "jpg"/"jpeg" (quality 95), or another one that OpenCV supports ("png"). Throws
/// SampleError.
std::string encode_image(const Image& image, const std::string& type);

}  // namespace cortado::data
