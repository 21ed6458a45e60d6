#pragma once

#include <cstdint>
#include <string>

namespace cortado::data {

enum class DecodeOn { kCpu, kAuto, kGpu };

/// Which decoder JPEGs get on their way to a device: what a context is asked for, and what came of it. Lives in the
/// Context: context.handle<JpegDecoding>().
struct JpegDecoding {
  DecodeOn wanted = DecodeOn::kCpu;  ///< kAuto: the GPU, where it can
  std::string by = "libjpeg-turbo";  ///< known when the first batch was read; where it is the GPU's, the name of that
  int64_t on_device = 0;             ///< images that the device decoded
};

}  // namespace cortado::data
