#pragma once

#include <string>
#include <vector>

namespace cortado::tools {

/// A choice that was made for the user. The command prints it, and writes it as a comment next to the field.
struct Choice {
  std::string what, value, why;  ///< "batch", "32", "1 200 images: 30 updates in an epoch"
};

using Choices = std::vector<Choice>;

/// The choices as comment lines of at most 120 columns: "# batch 32: 1 200 images ...".
std::string comments_of(const Choices& choices);

}  // namespace cortado::tools
