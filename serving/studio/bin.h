#pragma once

#include <string>

#include "studio/folder.h"

namespace cortado::studio {

constexpr const char* kBin = ".studio/bin";

/// Moves a file or folder to the bin, and returns its name there.
std::string move_to_bin(const Folder& folder, const std::string& path);

/// Removes records of the bin whose items are elsewhere, because a studio was killed while it moved them.
void remove_origins_without_items(const Folder& folder);

}  // namespace cortado::studio
