#pragma once

#include <map>
#include <optional>
#include <string>

#include "tools/options/like_net.h"

namespace cortado::tools {

/// Names of the classes of objects by label. `path` is a label map (a caffe::LabelMap as text, .prototxt) or has one
/// name a line, from label 0 on; throws Error. "": the label map beside a dataset of the net that images are prepared
/// like; else there are none.
std::map<int, std::string> detection_names(const std::string& path, const std::optional<LikeNet>& like);

}  // namespace cortado::tools
