#pragma once

#include <string>
#include <vector>

namespace cortado::data {

/// The names of classes, one a line, in the order of labels; a final empty line and carriage returns do not count.
/// Throws Error(kIo), or Error(kData) for a file that is no text or holds no names.
std::vector<std::string> read_labels(const std::string& path);

}  // namespace cortado::data
