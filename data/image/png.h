#pragma once

#include <string>
#include <string_view>

#include "data/image/image.h"

namespace cortado::data {

bool is_png(std::string_view file);

/// Into out's memory. Throws SampleError.
void decode_png(std::string_view file, ColorMode mode, Image& out);

/// An image of 1 or 3 channels (blue, green, red) as a PNG file's content. Throws SampleError.
std::string encode_png(const Image& image);

}  // namespace cortado::data
