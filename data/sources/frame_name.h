#pragma once

// Names of frames as formats of printf: "image_%04d.jpg".

#include <cstdint>
#include <string>
#include <string_view>

namespace cortado::data {

/// What is wrong with a format; "" if nothing is. It needs one %d, with a width of up to 99, and one %c if `with_axis`.
std::string fault_of_frame_name(std::string_view format, bool with_axis);

/// The name of frame `number`; `axis` replaces %c. The format has no faults.
std::string frame_name(std::string_view format, int64_t number, char axis = 0);

}  // namespace cortado::data
