#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/flags.h"
#include "tools/like_net.h"

namespace cortado::tools {

/// The names of the net's classes: those of --labels; else of DATASET.labels.txt or labels.txt beside a dataset of
/// `like`, as `cortado convert` puts them there, or of labels.txt beside the model, if there are as many names as
/// classes, which is logged; else none. Throws Error for a file that --labels names and that cannot be read or has too
/// few.
std::vector<std::string> classify_labels(const Arguments& arguments, const std::optional<LikeNet>& like,
                                         size_t classes);

}  // namespace cortado::tools
