#pragma once

#include <string>
#include <string_view>

#include "data/image/image.h"

namespace cortado::data {

/// decode and encode by the OpenCV module, which is loaded on the first call. Throws SampleError; when there is no
/// module, with a hint how to get one.
void decode_with_module(std::string_view file, ColorMode mode, Image& out);
std::string encode_with_module(const Image& image, const std::string& type);

}  // namespace cortado::data
