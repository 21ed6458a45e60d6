#pragma once

// Colour operations as matrices that are composed: consecutive ones are merged, without clamping to 0..255 in between.

#include "data/augment/affine.h"
#include "data/augment/augment_params.h"

namespace cortado::data {

/// Row c computes channel c from blue, green, red and 1.
struct ColorMatrix {
  double v[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
};

ColorMatrix brightened(double factor, double add = 0);
ColorMatrix contrasted(double factor, double about);  ///< about + factor (x - about)
ColorMatrix saturated(double factor);                 ///< grey + factor (x - grey); 0 converts to grey
ColorMatrix hue_turned(double radians);               ///< rotates around the grey axis; keeps the luminance
ColorMatrix inverted();                               ///< 255 - x
ColorMatrix reordered(int blue, int green, int red);  ///< the source channels of each channel

/// Appends colour operations to those of a draw.
class ColorList {
 public:
  explicit ColorList(AugmentParams& params) : params_(params) {}
  void add(const ColorMatrix& matrix);
  void posterize(int bits);
  void solarize(double from);
  void auto_contrast();
  void equalize();  ///< a second call is ignored, because it would have no effect
  void end_of_image_only() { params_.image_color_ops = params_.color_ops; }  ///< later ones change the fill, too

 private:
  ColorOp& next(ColorKind kind);
  AugmentParams& params_;
};

}  // namespace cortado::data
