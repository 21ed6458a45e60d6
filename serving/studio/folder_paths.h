#pragma once

// Opening what a relative path names, without following links. For folder.cc and folder_changes.cc only.

#include <string>
#include <vector>

#include "core/files/descriptor.h"

namespace cortado::studio {

/// The names in a path. Throws RequestError: kForbidden for paths that lead out of the folder, kInvalid for others.
std::vector<std::string> parts_of(const std::string& path);

/// Throws RequestError for the errno `error` of a system call.
[[noreturn]] void refuse_path(const std::string& path, int error);

Descriptor open_folder_in(int folder, const std::string& name);

/// Opens the parent folder name by name, so that no link is followed.
Descriptor open_above(int root, const std::string& path, const std::vector<std::string>& parts);

Descriptor open_below(int root, const std::string& path, int flags);

}  // namespace cortado::studio
