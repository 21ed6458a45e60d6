#pragma once

// How images become a net's input: as the data layer of its training and test net makes them in testing, as flags say,
// or (as Caffe's example cpp_classification does) resized to the input and no more.

#include <optional>
#include <string>
#include <vector>

#include "core/shape.h"
#include "data/sources/prepare_image.h"
#include "tools/options/flags.h"
#include "tools/options/like_net.h"

namespace cortado::tools {

/// How an image becomes 1 x channels x height x width of `input`; --mean and --scale overrule `like`, which is cleared
/// where it was found and makes another shape. What was decided is logged. Throws Error.
data::ImagePreparation image_preparation(const Arguments& arguments, std::optional<LikeNet>& like, const Shape& input);

/// --mean: numbers, one for all channels or one for each, or a mean file whose channels are averaged. Throws Error.
std::vector<float> channel_means(const std::string& text, int channels);

/// The flags of this header.
std::vector<Flag> image_input_flags();

}  // namespace cortado::tools
