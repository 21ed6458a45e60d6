#pragma once

#include "studio/folder.h"

namespace cortado::studio {

/// Removes what studios left that were killed: hidden files of uploads and saves, temporary folders, and datasets,
/// preparations and reports that they were making. What a running studio is working on stays. Call it at the start.
void remove_remains(const Folder& folder);

}  // namespace cortado::studio
