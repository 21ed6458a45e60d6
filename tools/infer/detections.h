#pragma once

// The output of a detector: rows of image, label, score and four corners, as DetectionOutput writes them.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/box.h"
#include "tools/options/like_net.h"

namespace cortado::tools {

constexpr int64_t kDetectionRow = 7;

struct Found {
  int label;
  float score;
  cortado::Box box;  ///< as fractions of the image
};

/// The objects of one image with a score of at least `threshold`, the highest score first.
std::vector<Found> objects_in(const std::vector<float>& rows, float threshold);

/// Class names by label, from the label map next to the first of these datasets that has one.
std::map<int, std::string> names_of_objects(const std::vector<std::string>& datasets);

/// Class names by label. `path` is a label map (a caffe::LabelMap as text, .prototxt), or has one name a line, from
/// label 0 on; throws Error. If `path` is "", reads the label map next to a dataset of the net in `like`; returns no
/// names without one.
std::map<int, std::string> detection_names(const std::string& path, const std::optional<LikeNet>& like);

}  // namespace cortado::tools
