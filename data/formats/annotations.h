#pragma once

// Files with the positions of objects in images.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "data/object.h"

namespace cortado::data {

/// An object whose class has no number yet.
struct NamedObject {
  std::string name;
  Box box;  ///< in fractions of the image's sides
  bool difficult = false;
};

struct ImageExtent {
  int64_t height = 0, width = 0;

  bool operator==(const ImageExtent&) const = default;
};

/// The objects of one image.
struct Annotation {
  std::string file;  ///< of the image, if the annotation names it
  ImageExtent extent;
  std::vector<NamedObject> objects;
};

/// PASCAL VOC's XML: size, and for each object name, bndbox and difficult. Corners are divided by the size without an
/// offset, as in SSD's tools. `image_extent` reads the image's size; it is called only without <size>. Throws
/// SampleError.
Annotation parse_voc(std::string_view xml, const std::function<ImageExtent()>& image_extent);

/// Lines "LABEL XMIN YMIN XMAX YMAX" in pixels of an image of that size; the label is a name or a number. Throws
/// SampleError.
Annotation parse_box_lines(std::string_view text, ImageExtent extent);

/// COCO's instances: all images of a set in order, crowds marked as difficult. Throws SampleError.
struct CocoSet {
  std::vector<Annotation> images;
  std::map<int64_t, std::string> categories;  ///< by COCO's category ids
};
CocoSet parse_coco(std::string_view json);

}  // namespace cortado::data
