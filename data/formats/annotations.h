#pragma once

// Files that say where objects are in images.

#include <cstdint>
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

/// One image's objects.
struct Annotation {
  std::string file;               ///< of the image, where the annotation names it
  int64_t height = 0, width = 0;  ///< of the image, where the annotation says
  std::vector<NamedObject> objects;
};

/// PASCAL VOC's XML: size, and for each object name, bndbox and difficult. Corners are divided by the size as they are,
/// as SSD's tools do. Throws SampleError.
Annotation parse_voc(std::string_view xml);

/// Lines "LABEL XMIN YMIN XMAX YMAX" in pixels of an image of that size; the label is a name or a number. Throws
/// SampleError.
Annotation parse_box_lines(std::string_view text, int64_t height, int64_t width);

/// COCO's instances: all images of a set in their order, crowds marked as difficult. Throws SampleError.
struct CocoSet {
  std::vector<Annotation> images;
  std::map<int64_t, std::string> categories;  ///< by COCO's numbers
};
CocoSet parse_coco(std::string_view json);

}  // namespace cortado::data
