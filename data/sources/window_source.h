#pragma once

#include <memory>
#include <string>

#include "data/source.h"
#include "data/sources/window_warp.h"

namespace cortado::data {

/// Options of a WindowData layer.
struct WindowSourceOptions {
  std::string list;  ///< a window file
  std::string root;  ///< prepended to each path as a string
  float fg_threshold = 0.5f, bg_threshold = 0.5f;
  int batch_size = 1;
  int foreground = 0;   ///< number per batch; they are the last ones
  bool mirror = false;  ///< with probability 1/2 for each window
  bool keep_files = false;
  uint64_t seed = 1;
  WarpOptions warp;
  WarpValues values;
};

/// Windows drawn at random, warped, as floats that need no further transformation. The sequence is infinite: record n
/// depends on (seed, n) only and is window n % batch_size of its batch. Throws Error like read_window_file(),
/// Error(kData) if a required kind of windows does not occur, FieldError if the mean and the images have different
/// numbers of channels.
std::shared_ptr<const DataSource> window_source(const WindowSourceOptions& options);

}  // namespace cortado::data
