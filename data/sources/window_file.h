#pragma once

// Window files, as R-CNN's tools write them. For each image:
//   # INDEX
//   PATH
//   CHANNELS
//   HEIGHT
//   WIDTH
//   NUMBER OF WINDOWS
//   CLASS OVERLAP X1 Y1 X2 Y2      one line for each; corners count from 0 and belong to the window
// Any white space parts the numbers. Windows that overlap an object by fg_threshold or more are foreground and keep
// their class; those below bg_threshold are background, class 0; the rest are left out.

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"

namespace cortado::data {

struct Window {
  uint32_t image = 0;
  int32_t label = 0;
  int32_t x1 = 0, y1 = 0, x2 = 0, y2 = 0;
};

struct WindowImage {
  std::string path;
  int line = 0;  ///< of the window file, where its path is
};

struct WindowFile {
  std::string path;
  int channels = 0;  ///< 1 or 3, the same for all images
  std::vector<WindowImage> images;
  std::vector<Window> foreground, background;
};

/// Throws Error(kIo), or Error(kData) with the place of the first mistake.
WindowFile read_window_file(const std::string& path, float fg_threshold, float bg_threshold);

}  // namespace cortado::data
