#pragma once

#include <string_view>

namespace cortado::data {

/// Whether a JPEG is of the kind that decoders in hardware agree about: baseline, 8 bits, three components that are
/// surely YCbCr, chroma of full, half or quarter size, all in one scan, not cut off, stored as it is shown. Its headers
/// alone are looked at; any bytes may be given.
bool is_plain_jpeg(std::string_view file);

}  // namespace cortado::data
