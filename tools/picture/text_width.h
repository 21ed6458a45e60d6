#pragma once

#include <string>

namespace cortado::tools {

/// How wide `text` (UTF-8) is in a sans serif face like Helvetica, Arial or Liberation Sans of `size` units.
double text_width(const std::string& text, double size, bool bold = false);

/// How much room it needs so that every common sans serif face fits.
double text_room(const std::string& text, double size, bool bold = false);

/// `text` cut in its middle so that it needs at most `most` of room; what is not UTF-8 or not printable becomes '?'.
std::string fitted(const std::string& text, double most, double size, bool bold = false);

}  // namespace cortado::tools
