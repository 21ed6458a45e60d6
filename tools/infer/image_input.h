#pragma once

// Preparation of images for a net's input: as the data layer of its training and test net does in testing, as flags
// select, or only resized to the input (as Caffe's example cpp_classification does).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/shape.h"
#include "data/sources/prepare_image.h"
#include "tools/options/flags.h"
#include "tools/options/like_net.h"

namespace cortado::tools {

/// How to convert an image to the shape 1 x channels x height x width of `input`. --mean and --scale override `like`.
/// Resets `like` if it was found automatically and results in another shape. Logs the decision. Throws Error.
data::ImagePreparation image_preparation(const Arguments& arguments, std::optional<LikeNet>& like, const Shape& input);

/// The values of --mean: numbers, one for all channels or one for each, or a mean file, averaged by channel. Throws
/// Error.
std::vector<float> channel_means(const std::string& text, int channels);

Flag like_flag();
std::vector<Flag> image_input_flags();  ///< --like, --mean and --scale

/// The image files of `operands`. A file is taken as is. For a folder, takes all files below it with image endings, in
/// byte order, without hidden ones. A pattern with *, ? or [...], not expanded by the shell, is expanded. Throws
/// Error(kData) for a folder or pattern without images.
std::vector<std::string> image_files(const std::vector<std::string>& operands);

/// To be called in an exception handler: reports the bad image and returns the exit code. Rethrows other exceptions.
int show_bad_image(const std::string& path);

}  // namespace cortado::tools
