#pragma once

#include <memory>
#include <string>

#include "data/source.h"

namespace cortado::data {

/// What an ImageData layer reads.
struct ImageSourceOptions {
  std::string list;                   ///< lines "path label"
  std::string root;                   ///< put before each path as it is
  int height = 0, width = 0;          ///< images are brought to this size; 0: they are not
  int short_side = 0;                 ///< else their shorter side is brought to this length; 0: it is not
  int min_height = 0, min_width = 0;  ///< else smaller ones are enlarged until neither side is below
};

/// The image files of a list, in its order. Sizes change by resize_bilinear() before anything else happens to an image,
/// so a mean image has the new size. Throws Error as ImageList does.
std::shared_ptr<const DataSource> image_source(const ImageSourceOptions& options);

}  // namespace cortado::data
