#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "proto/cortado.pb.h"

namespace cortado::data {

/// Reads the names of classes, one per line, in the order of labels; a final empty line and carriage returns are
/// ignored. Throws Error(kIo), or Error(kData) if the file is not text or has no names.
std::vector<std::string> read_labels(const std::string& path);

/// The content of such a file. Throws Error(kData) for a name that could not be read back: an empty one, or one with a
/// line break, which would shift all later names.
std::string labels_text(const std::vector<std::string>& names);

/// Maximum number of classes in a file.
constexpr size_t kMaxInLabelMap = 100000;

/// Reads a caffe::LabelMap as text. Throws Error(kIo/kNet) like reading a prototxt, and Error(kData) if a name or a
/// label occurs twice.
caffe::LabelMap read_label_map(const std::string& path);

/// The classes of the pixels of label images.
struct PixelClasses {
  int count = 0;                 ///< classes are from 0 to count - 1
  std::array<int, 256> of = {};  ///< the class for each pixel value; -1: none
};

constexpr int kMaxPixelClasses = 256;

/// The classes by MobileNet-YOLO's label map: items with label_id, the pixel value, and label, the class. Several
/// values may have one class. count is 0 if no item has a label_id. Throws Error(kIo/kNet) like reading a prototxt,
/// and Error(kData) for numbers out of range.
PixelClasses read_pixel_classes(const std::string& path);

/// The display names by label.
std::map<int32_t, std::string> shown_names(const caffe::LabelMap& map);

}  // namespace cortado::data
