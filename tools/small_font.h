#pragma once

#include <string>

#include "data/image.h"

namespace cortado::tools {

constexpr int kTextHeight = 10, kTextAdvance = 8;  ///< pixels of a line, and from letter to letter

/// Writes white capitals, digits and a little punctuation with the upper left corner at (x, y), as far as the image
/// goes. What the font does not have is shown as '?'.
void draw_text(data::Image& image, int x, int y, const std::string& text);

}  // namespace cortado::tools
