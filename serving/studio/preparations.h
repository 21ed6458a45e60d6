#pragma once

#include <string>

#include "studio/folder.h"

namespace cortado::studio {

// A prepared training: a folder trainings/NAME with the files of `cortado new`, which the user has not accepted yet.
// The file .prepared marks it. Until then the studio may remove the folder, so that its name is free again.

/// Removes the mark of the solver's folder, if it has one: the files now belong to the user.
void accept_prepared(const Folder& folder, const std::string& solver);

/// Removes the folder. Returns false, and keeps it, if it is not marked, or if a file was added or changed since.
bool discard_prepared(const Folder& folder, const std::string& path);

}  // namespace cortado::studio
