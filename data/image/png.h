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

/// Whether a JPEG is of the kind that decoders in hardware agree about: baseline, 8 bits, three components that are
/// surely YCbCr, chroma of full, half or quarter size, all in one scan, not cut off, stored as it is shown. Its headers
/// alone are looked at; any bytes may be given.
bool is_plain_jpeg(std::string_view file);

}  // namespace cortado::data
