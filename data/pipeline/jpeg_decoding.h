#pragma once

#include <cstdint>
#include <string>

namespace cortado::data {

enum class DecodeOn { kCpu, kAuto, kGpu };

/// The decoder for JPEGs that a context requests, and the one in use. Stored in the Context:
/// context.handle<JpegDecoding>().
struct JpegDecoding {
  DecodeOn wanted = DecodeOn::kCpu;  ///< kAuto: the GPU if possible
  std::string by = "libjpeg-turbo";  ///< set with the first batch; the GPU decoder's name if that is used
  int64_t on_device = 0;             ///< number of images that the device decoded
};

}  // namespace cortado::data
