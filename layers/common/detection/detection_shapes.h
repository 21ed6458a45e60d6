#pragma once

// What layers that read SSD's offsets, scores and priors agree on.

#include <cstdint>
#include <string>
#include <vector>

#include "core/shape.h"

namespace cortado {

struct DetectionShapes {
  int64_t images = 0, priors = 0, classes = 0;
  int64_t codes = 1;  ///< boxes of a prior: 1, or one for each class
  int64_t offsets_of_an_image() const { return 4 * priors * codes; }
};

/// Of x[0] (offsets, N x 4 P codes), x[1] (scores, N x P classes) and x[2] (priors, 1 x 2 x 4 P). Throws FieldError;
/// `param` is the name of the options that have num_classes and share_location.
DetectionShapes detection_shapes(const std::vector<Shape>& x, const std::string& param, int64_t classes,
                                 bool share_location);

/// Throws FieldError unless x[i] holds two scores, x[i + 1] four offsets for each prior of each image.
void require_anchors(const std::vector<Shape>& x, int64_t i, const DetectionShapes& shapes);

}  // namespace cortado
