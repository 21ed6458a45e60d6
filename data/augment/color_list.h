#pragma once

// Colours as matrices that compose: neighbours in the list become one, and nothing is cut off to 0..255 between them.

#include "data/augment/affine.h"
#include "data/augment/augment_params.h"

namespace cortado::data {

/// Row c gives channel c from blue, green, red and 1.
struct ColorMatrix {
  double v[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
};

ColorMatrix brightened(double factor, double add = 0);
ColorMatrix contrasted(double factor, double about);  ///< about + factor (x - about)
ColorMatrix saturated(double factor);                 ///< grey + factor (x - grey); 0 makes grey
ColorMatrix hue_turned(double radians);               ///< about the axis of greys; luminance stays
ColorMatrix inverted();                               ///< 255 - x
ColorMatrix reordered(int blue, int green, int red);  ///< which channel becomes each

/// Appends to a draw's operations.
class ColorList {
 public:
  explicit ColorList(AugmentParams& params) : params_(params) {}
  void add(const ColorMatrix& matrix);
  void posterize(int bits);
  void solarize(double from);
  void auto_contrast();
  void equalize();  ///< a second time changes nothing, and is left out

 private:
  ColorOp& next(ColorKind kind);
  AugmentParams& params_;
};

}  // namespace cortado::data
