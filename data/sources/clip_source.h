#pragma once

// Clips: frames that follow each other, as files of images in a folder.

#include <memory>
#include <string>

#include "data/source.h"

namespace cortado::data {

struct ClipSourceOptions {
  std::string list;           ///< lines "folder first_frame label"
  std::string root;           ///< put before each folder as it is
  int length = 1;             ///< frames of a clip
  int rate = 1;               ///< every so many frames of the folder
  int height = 0, width = 0;  ///< what frames are brought to; 0: they stay
};

/// A clip's sample has 3 x length channels, those of one colour side by side: blue of all frames, green, red. Frame n
/// of a folder is the file n in six digits with the ending .jpg. Throws Error(kIo), or Error(kData) for lines that are
/// wrong.
std::shared_ptr<const DataSource> clip_source(const ClipSourceOptions& options);

}  // namespace cortado::data
