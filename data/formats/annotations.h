#pragma once

// Files that say where objects are in images.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "data/object.h"

namespace cortado::data {

/// An object before its class has a number.
struct NamedObject {
  std::string name;
  Box box;  ///< in parts of the image's sides
  bool difficult = false;
};

struct ImageExtent {
  int64_t height = 0, width = 0;

  bool operator==(const ImageExtent&) const = default;
};

/// One image's objects.
struct Annotation {
  std::string file;  ///< of the image, where the annotation names it
  ImageExtent extent;
  std::vector<NamedObject> objects;
};

/// PASCAL VOC's XML: size, and for each object name, bndbox and difficult. Corners are divided by the size as they are,
/// as SSD's tools do. `image_extent` looks at the image; called only where there is no <size>. Throws SampleError.
Annotation parse_voc(std::string_view xml, const std::function<ImageExtent()>& image_extent);

/// Lines "LABEL XMIN YMIN XMAX YMAX" in pixels of an image of that size; the label is a name or a number. Throws
/// SampleError.
Annotation parse_box_lines(std::string_view text, ImageExtent extent);

/// COCO's instances: all images of a set in their order, crowds marked as difficult. Throws SampleError.
struct CocoSet {
  std::vector<Annotation> images;
  std::map<int64_t, std::string> categories;  ///< by COCO's numbers
};
CocoSet parse_coco(std::string_view json);

}  // namespace cortado::data
