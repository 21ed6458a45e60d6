#include "data/image/opencv/module.h"

#include <cstring>
#include <exception>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <string>
#include <vector>

#include "data/image/opencv/quiet.h"

namespace {

/// The caller handles orientation: OpenCV does not support it in every format, nor with IMREAD_UNCHANGED.
int flags_of(int mode) {
  if (mode == kCortadoColor) return cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION;
  if (mode == kCortadoGray) return cv::IMREAD_GRAYSCALE | cv::IMREAD_IGNORE_ORIENTATION;
  return cv::IMREAD_UNCHANGED;
}

}  // namespace

int cortado_opencv_decode(const uint8_t* file, size_t size, int mode, CortadoImageMemory memory, void* user,
                          char* message) {
  make_quiet();
  try {
    if (size > size_t(INT32_MAX)) return refuse(message, "the file is larger than 2 GiB");
    const cv::Mat bytes(1, int(size), CV_8U, const_cast<uint8_t*>(file));
    const cv::Mat image = cv::imdecode(bytes, flags_of(mode));
    if (image.empty()) return refuse(message, "an unknown image format, or damaged");
    if (image.depth() != CV_8U) return refuse(message, "its samples are not 8 bits wide");
    uint8_t* out = memory(user, image.channels(), image.rows, image.cols);
    if (out == nullptr) return refuse(message, "too large");
    const size_t row = size_t(image.cols) * image.elemSize();
    for (int y = 0; y < image.rows; ++y) std::memcpy(out + size_t(y) * row, image.ptr(y), row);
    return 0;
  } catch (const std::exception& error) {
    return refuse(message, error.what());
  }
}

int cortado_opencv_encode(const uint8_t* pixels, int channels, int height, int width, const char* extension,
                          CortadoTakeBytes take, void* user, char* message) {
  make_quiet();
  try {
    const cv::Mat image(height, width, CV_8UC(channels), const_cast<uint8_t*>(pixels));
    std::vector<uint8_t> file;
    if (!cv::imencode(extension, image, file)) return refuse(message, "encoding failed");
    take(user, file.data(), file.size());
    return 0;
  } catch (const std::exception& error) {
    return refuse(message, error.what());
  }
}
