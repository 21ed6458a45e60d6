#pragma once

#include <memory>
#include <string>

#include "data/image/image.h"
#include "data/source.h"
#include "proto/cortado.pb.h"

namespace cortado::data {

/// Target sizes of images before other transformations.
struct ImageSizes {
  int height = 0, width = 0;          ///< this size; 0: not set
  int short_side = 0;                 ///< otherwise the shorter side is resized to this length; 0: not set
  int min_height = 0, min_width = 0;  ///< otherwise smaller ones are enlarged until both sides have the minimum

  bool any() const { return height > 0 || short_side > 0 || min_height > 0 || min_width > 0; }
};

/// Resizes `image` by resize_bilinear(). `spare` is scratch memory. Throws SampleError.
void bring_to_size(const ImageSizes& sizes, Image& image, Image& spare);

/// The sizes of an ImageData layer. Throws FieldError.
ImageSizes image_sizes_of(const caffe::ImageDataParameter& param);

/// Options of an ImageData layer.
struct ImageSourceOptions {
  std::string list;  ///< lines "path label"
  std::string root;  ///< prepended to each path as a string
  ImageSizes sizes = {};
  int label_numbers = 1;  ///< above 1: a sample's label is its index in the list (ImageList)
};

/// The image files of a list, in its order. Images are resized before other transformations, so a mean image must have
/// the new size. Throws Error like ImageList.
std::shared_ptr<const DataSource> image_source(const ImageSourceOptions& options);

}  // namespace cortado::data
