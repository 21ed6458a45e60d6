#pragma once

#include <string>
#include <vector>

namespace cortado::tools {

/// The image files that `operands` name: files as they are; of a folder all below it whose names end as images' do, in
/// the order of their bytes, hidden ones left out; of a pattern with *, ? or [...] that the shell left as it is, what
/// matches. Throws Error(kData) for a folder or a pattern without images.
std::vector<std::string> image_files(const std::vector<std::string>& operands);

}  // namespace cortado::tools
