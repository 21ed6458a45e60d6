#pragma once

#include <string>
#include <string_view>

#include "data/image/image.h"

namespace cortado::data {

/// decode and encode by the OpenCV module, which is loaded at the first call. Throws SampleError; if the module is
/// missing, with a hint how to install it.
void decode_with_module(std::string_view file, ColorMode mode, Image& out);
std::string encode_with_module(const Image& image, const std::string& type);

}  // namespace cortado::data
