#pragma once

// The random changes of an image in DetectNetTransformation (detectnet_augmentation_param), and the same for its boxes.

#include <cstdint>

#include "core/rng.h"
#include "data/augment/affine.h"
#include "layers/types/detectnet_grid.h"

namespace cortado {

struct DetectNetSize {
  int64_t height, width;
};

/// A turn around the centre of an image, and the smallest image of whole pixels that shows all of it.
struct DetectNetTurn {
  data::Affine forth, back;  ///< of coordinates; the image's corners are at 0 and at its sides
  DetectNetSize size;
};
DetectNetTurn detectnet_turn(const DetectNetSize& image, double degrees);

/// In the order in which they happen.
struct DetectNetView {
  float hue = 0, saturation = 1;  ///< degrees, and a factor
  bool flip = false;
  DetectNetSize scaled = {0, 0};  ///< the image is resized to it
  double degrees = 0;             ///< clockwise
  int64_t left = 0, top = 0;      ///< of the crop

  /// A box of the image, which has this size, as the view shows it.
  DetectNetBox place(DetectNetBox box, const DetectNetSize& image) const;
};

/// Throws FieldError for options that do not fit images of that size.
void check_detectnet_options(const caffe::DetectNetAugmentationParameter& param, const DetectNetSize& image);

/// `shown` is the size of the crop.
DetectNetView draw_detectnet_view(const caffe::DetectNetAugmentationParameter& param, const DetectNetSize& image,
                                  const DetectNetSize& shown, RandomStream& stream);

}  // namespace cortado
