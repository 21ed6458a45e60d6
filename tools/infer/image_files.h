#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cortado::tools {

/// The image files that `operands` name: files as they are; of a folder all below it whose names end as images' do, in
/// the order of their bytes, hidden ones left out; of a pattern with *, ? or [...] that the shell left as it is, what
/// matches. Throws Error(kData) for a folder or a pattern without images.
std::vector<std::string> image_files(const std::vector<std::string>& operands);

/// Decoders of other formats are not for bytes of strangers.
bool is_trusted_format(std::string_view content);

/// Called where what was done with an image has thrown: shows what is wrong with the image, and gives the exit code.
/// Throws on what is no mistake of a user's.
int show_bad_image(const std::string& path);

}  // namespace cortado::tools
