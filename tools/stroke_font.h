#pragma once

// Letters as strokes, for pictures: legible at any size, and no font has to be installed.

#include <string>
#include <vector>

namespace cortado::tools {

struct Point {
  double x = 0, y = 0;  ///< y grows downwards
};

using Polyline = std::vector<Point>;  ///< one point or two equal ones: a dot

/// A letter's strokes, from its left end on the baseline.
struct Glyph {
  std::vector<Polyline> strokes;
  double advance = 0;  ///< to the next letter
};

/// The letters of `text` (UTF-8) at a font size in pixels. What the font does not have (it has ASCII, and × · …) is a
/// box.
std::vector<Glyph> glyphs_of(const std::string& text, double size);

/// The width of `text`, the sum of its letters' advances.
double glyphs_width(const std::string& text, double size);

}  // namespace cortado::tools
