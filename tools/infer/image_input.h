#pragma once

// How images become a net's input: as the data layer of its training and test net makes them in testing, as flags say,
// or (as Caffe's example cpp_classification does) resized to the input and no more.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/shape.h"
#include "data/sources/prepare_image.h"
#include "tools/options/flags.h"
#include "tools/options/like_net.h"

namespace cortado::tools {

/// How an image becomes 1 x channels x height x width of `input`. --mean and --scale override `like`, which is reset if
/// it was not named and makes another shape. Logs the decision. Throws Error.
data::ImagePreparation image_preparation(const Arguments& arguments, std::optional<LikeNet>& like, const Shape& input);

/// --mean: numbers, one for all channels or one for each, or a mean file whose channels are averaged. Throws Error.
std::vector<float> channel_means(const std::string& text, int channels);

Flag like_flag();
std::vector<Flag> image_input_flags();  ///< --like, --mean and --scale

/// The image files that `operands` name: files as they are; of a folder all below it whose names end as images' do, in
/// the order of their bytes, hidden ones left out; of a pattern with *, ? or [...] that the shell left as it is, what
/// matches. Throws Error(kData) for a folder or a pattern without images.
std::vector<std::string> image_files(const std::vector<std::string>& operands);

/// Decoders of other formats are not used for untrusted bytes.
bool is_trusted_format(std::string_view content);

/// Called in a handler: shows what is wrong with the image and returns the exit code. Rethrows other exceptions.
int show_bad_image(const std::string& path);

}  // namespace cortado::tools
