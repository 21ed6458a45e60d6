#pragma once

// Shapes with smooth edges on an image: each pixel is covered as far as the shape's edge is away from its centre.

#include <array>
#include <cstdint>

#include "data/image/image.h"
#include "tools/stroke_font.h"

namespace cortado::tools {

using Color = std::array<uint8_t, 3>;  ///< red, green, blue

/// Draws on an image of three channels, in units of `scale` pixels. What lies outside of the image is left out.
class Canvas {
 public:
  Canvas(data::Image& image, double scale) : image_(image), scale_(scale) {}

  void fill(const Color& color);
  /// A rectangle with round corners, and its outline, `line` wide, whose middle lies on the edge.
  void box(Point corner, double width, double height, double radius, const Color& fill, double line, const Color& edge);
  void stroke(const Polyline& line, double width, const Color& color);
  void triangle(Point a, Point b, Point c, const Color& color);
  /// Text of a font size, from `left` on its baseline, stretched or narrowed to `width` unless that is 0.
  void text(Point left, const std::string& text, double size, double weight, double width, const Color& color);

 private:
  template <typename Distance>
  void cover(Point least, Point most, const Color& color, const Distance& distance);
  void strokes(const std::vector<Polyline>& lines, double width, const Color& color);

  data::Image& image_;
  double scale_;
};

}  // namespace cortado::tools
