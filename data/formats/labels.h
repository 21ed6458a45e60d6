#pragma once

#include <string>
#include <vector>

namespace cortado::data {

/// The names of classes, one a line, in the order of labels; a final empty line and carriage returns do not count.
/// Throws Error(kIo), or Error(kData) for a file that is no text or holds no names.
std::vector<std::string> read_labels(const std::string& path);

/// Such a file of these names. Throws Error(kData) for a name that would not come back from its line: an empty one, or
/// one with a line break in it, which would shift all later names.
std::string labels_text(const std::vector<std::string>& names);

}  // namespace cortado::data
