#pragma once

#include <string>

namespace cortado::tools {

/// The width of `text` (UTF-8) in a sans serif font like Helvetica, Arial or Liberation Sans of `size` units.
double text_width(const std::string& text, double size, bool bold = false);

/// The width that is enough for all common sans serif fonts.
double text_room(const std::string& text, double size, bool bold = false);

/// `text`, cut in its middle so that its text_room() is at most `most`. Invalid UTF-8 and unprintable characters become
/// '?'.
std::string fitted(const std::string& text, double most, double size, bool bold = false);

}  // namespace cortado::tools
