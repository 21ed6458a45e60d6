#pragma once

// Window files in the format of R-CNN's tools. For each image:
//   # INDEX
//   PATH
//   CHANNELS
//   HEIGHT
//   WIDTH
//   NUMBER OF WINDOWS
//   CLASS OVERLAP X1 Y1 X2 Y2      one line for each; corners start at 0 and are part of the window
// Numbers are separated by any white space. Windows with an overlap of fg_threshold or more are foreground and keep
// their class. Those below bg_threshold are background, class 0. The others are dropped.

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
  int line = 0;  ///< in the window file, of its path
};

struct WindowFile {
  std::string path;
  int channels = 0;  ///< 1 or 3, the same for all images
  std::vector<WindowImage> images;
  std::vector<Window> foreground, background;
};

/// Throws Error(kIo), or Error(kData) with the place of the first error.
WindowFile read_window_file(const std::string& path, float fg_threshold, float bg_threshold);

}  // namespace cortado::data
