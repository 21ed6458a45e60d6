#pragma once

// Affine maps from the pixels of a result to those of a source image, in double precision. AugmentParams stores them in
// fixed point.

#include <cmath>

namespace cortado::data {

/// (x, y) -> (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]).
struct Affine {
  double m[6] = {1, 0, 0, 0, 1, 0};

  /// The map that applies `first`, then this one.
  Affine after(const Affine& first) const {
    const double* f = first.m;
    return {{m[0] * f[0] + m[1] * f[3], m[0] * f[1] + m[1] * f[4], m[0] * f[2] + m[1] * f[5] + m[2],
             m[3] * f[0] + m[4] * f[3], m[3] * f[1] + m[4] * f[4], m[3] * f[2] + m[4] * f[5] + m[5]}};
  }
};

/// A motion of an image around its centre.
struct Motion {
  double turn = 0;                  ///< radians
  double shear_x = 0, shear_y = 0;  ///< pixels per pixel
  double move_x = 0, move_y = 0;    ///< pixels
  double zoom = 1;
};

/// The map from the pixels of the moved image, which has this size, to the original.
inline Affine way_back(const Motion& motion, int height, int width) {
  const double x = (width - 1) / 2.0, y = (height - 1) / 2.0, c = std::cos(motion.turn), s = std::sin(motion.turn);
  const Affine to_middle{{1, 0, -x - motion.move_x, 0, 1, -y - motion.move_y}};
  const Affine turned{{c / motion.zoom, s / motion.zoom, 0, -s / motion.zoom, c / motion.zoom, 0}};
  const Affine sheared{{1, -motion.shear_x, 0, -motion.shear_y, 1, 0}};
  const Affine from_middle{{1, 0, x, 0, 1, y}};
  return from_middle.after(sheared).after(turned).after(to_middle);
}

}  // namespace cortado::data
