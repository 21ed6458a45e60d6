#pragma once

#include <string>
#include <string_view>

namespace cortado::data {

/// Unpacks a block of Snappy's raw format (github.com/google/snappy, format_description.txt) into `out`, whose capacity
/// is reused. False where it is damaged. Memory is bounded by a small multiple of the input.
bool unpack_snappy(std::string_view packed, std::string& out);

}  // namespace cortado::data
