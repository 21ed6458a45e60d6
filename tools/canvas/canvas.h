#pragma once

// Antialiased shapes and text of any script on an image, by Pango and cairo in libcortado_canvas.so, which is loaded
// with the first canvas.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/image/image.h"
#include "tools/canvas/cairo/module.h"

namespace cortado::tools {

struct Point {
  double x = 0, y = 0;  ///< y grows downwards
};

/// With rounded corners if it has a radius.
struct Rectangle {
  Point corner;  ///< the upper left one
  double width = 0, height = 0, radius = 0;
};

using Color = CortadoColor;
using Font = CortadoFont;

/// Lengths are in units of `scale` pixels. Clips shapes to the image.
class Canvas {
 public:
  /// Throws Error(kIo), with the packages to install, if libcortado_canvas.so cannot be loaded or no font is installed.
  static void require();

  /// Both throw as require() does, and Error(kData) for a side of more than 32767 pixels.
  Canvas(int width, int height, double scale, Color background);
  explicit Canvas(const data::Image& image);  ///< a copy with three channels; the scale is 1

  data::Image image() const;  ///< the image with all shapes

  void fill(const Rectangle& box, Color color);
  void outline(const Rectangle& box, double line, Color color);            ///< centred on the edge
  void curve(const std::vector<Point>& points, double line, Color color);  ///< in fours: a cubic Bezier curve each
  void triangle(Point a, Point b, Point c, Color color);
  /// From `left`, on the baseline, compressed if it is wider than `most`.
  void text(Point left, const std::string& text, Font font, double most, Color color);

  static double width_of(const std::string& text, Font font);
  /// In lines of `width`, broken where the script allows it, and within words that are wider than a line.
  static std::vector<std::string> broken(const std::string& text, Font font, double width);

 private:
  Canvas(const data::Image* image, int width, int height, double scale);

  int width_, height_;
  const CortadoCanvasFunctions& functions_;
  std::unique_ptr<CortadoCanvas, void (*)(CortadoCanvas*)> canvas_;
};

}  // namespace cortado::tools
