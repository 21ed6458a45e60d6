#pragma once

#include <memory>
#include <string>

#include "data/image/image.h"
#include "data/source.h"
#include "proto/cortado.pb.h"

namespace cortado::data {

/// What sizes images are brought to before anything else happens to them.
struct ImageSizes {
  int height = 0, width = 0;          ///< this size; 0: it stays
  int short_side = 0;                 ///< else their shorter side is brought to this length; 0: it is not
  int min_height = 0, min_width = 0;  ///< else smaller ones are enlarged until neither side is below

  bool any() const { return height > 0 || short_side > 0 || min_height > 0 || min_width > 0; }
};

/// Brings `image` to its size by resize_bilinear(). `spare` is memory to work with. Throws SampleError.
void bring_to_size(const ImageSizes& sizes, Image& image, Image& spare);

/// The sizes that an ImageData layer asks for. Throws FieldError.
ImageSizes image_sizes_of(const caffe::ImageDataParameter& param);

/// What an ImageData layer reads.
struct ImageSourceOptions {
  std::string list;  ///< lines "path label"
  std::string root;  ///< put before each path as it is
  ImageSizes sizes = {};
  int label_numbers = 1;  ///< above 1: the label that comes with a sample is its number in the list (ImageList)
};

/// The image files of a list, in its order. Sizes change before anything else happens to an image, so a mean image has
/// the new size. Throws Error as ImageList does.
std::shared_ptr<const DataSource> image_source(const ImageSourceOptions& options);

}  // namespace cortado::data
