#pragma once

#include <string>
#include <string_view>

#include "data/image/image.h"

namespace cortado::data {

bool is_png(std::string_view file);

/// Decodes into out's memory. Throws SampleError.
void decode_png(std::string_view file, ColorMode mode, Image& out);

/// Encodes an image of 1 or 3 channels (blue, green, red) as a PNG file. Throws SampleError.
std::string encode_png(const Image& image);

/// Whether a JPEG has a format that hardware decoders decode alike: baseline, 8 bits, three YCbCr components, chroma of
/// full, half or quarter size, a single scan, not truncated, upright. Reads the headers only; accepts arbitrary bytes.
bool is_plain_jpeg(std::string_view file);

}  // namespace cortado::data
