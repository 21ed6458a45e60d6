#pragma once

#include <string>
#include <vector>

namespace cortado::tools {

/// The command line as `cortado` would be told it, when the program was called by the name of one of Caffe's
/// (`caffe`, `convert_imageset`, `compute_image_mean`, `extract_features`, through a symlink); else `words` as they
/// are.
std::vector<std::string> translate_caffe_call(const std::string& program, std::vector<std::string> words);

}  // namespace cortado::tools
