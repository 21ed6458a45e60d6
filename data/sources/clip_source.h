#pragma once

// Clips: consecutive frames, stored as image files in a folder.

#include <memory>
#include <string>

#include "data/source.h"

namespace cortado::data {

struct ClipSourceOptions {
  std::string list;           ///< lines "folder first_frame label"
  std::string root;           ///< prepended to each folder as a string
  int length = 1;             ///< frames per clip
  int rate = 1;               ///< step between frames of the folder
  int height = 0, width = 0;  ///< the size to which frames are resized; 0: not resized
};

/// A clip's sample has 3 x length channels, grouped by colour: blue of all frames, green, red. Frame n of a folder is
/// the file n in six digits with the extension .jpg. Throws Error(kIo), or Error(kData) for invalid lines.
std::shared_ptr<const DataSource> clip_source(const ClipSourceOptions& options);

}  // namespace cortado::data
