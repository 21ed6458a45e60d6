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

/// Class names by label. --labels is a label map (a caffe::LabelMap as text, .prototxt), or has one name a line, from
/// label 0 on; throws Error. Without it, reads the label map of the run that --model or --weights belongs to, or of a
/// dataset of the net in `like`. Logs the file, or that there is none.
std::map<int, std::string> detection_names(const Arguments& arguments, const std::optional<LikeNet>& like);

}  // namespace cortado::tools
