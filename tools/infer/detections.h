#pragma once

// What a net that detects gives: rows of image, label, score and four corners, as DetectionOutput makes them.

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
  Box box;  ///< in parts of the image
};

/// The objects in one image whose score is `threshold` or more, the surest first.
std::vector<Found> objects_in(const std::vector<float>& rows, float threshold);

/// Names of the classes of objects by label. `path` is a label map (a caffe::LabelMap as text, .prototxt) or has one
/// name a line, from label 0 on; throws Error. "": the label map beside a dataset of the net that images are prepared
/// like; else there are none.
std::map<int, std::string> detection_names(const std::string& path, const std::optional<LikeNet>& like);

}  // namespace cortado::tools
