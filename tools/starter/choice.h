#pragma once

#include <string>
#include <vector>

namespace cortado::tools {

/// Something that was decided for the user: printed by the command and written as a comment where it stands.
struct Choice {
  std::string what, value, why;  ///< "batch", "32", "1 200 images: 30 updates in an epoch"
};

using Choices = std::vector<Choice>;

/// The choices as lines of comment of at most 120 columns: "# batch 32: 1 200 images ...".
std::string comments_of(const Choices& choices);

}  // namespace cortado::tools
