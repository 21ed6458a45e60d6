#pragma once

#include <memory>
#include <string>

#include "data/source.h"
#include "data/sources/window_warp.h"

namespace cortado::data {

/// What a WindowData layer reads.
struct WindowSourceOptions {
  std::string list;  ///< a window file
  std::string root;  ///< put before each path as it is
  float fg_threshold = 0.5f, bg_threshold = 0.5f;
  int batch_size = 1;
  int foreground = 0;   ///< of each batch; they come last
  bool mirror = false;  ///< toss a coin for each window
  bool keep_files = false;
  uint64_t seed = 1;
  WarpOptions warp;
  WarpValues values;
};

/// Windows drawn at random, warped, as floats that need nothing more. There is no end to it: record n is a function of
/// (seed, n), the (n % batch_size)th window of its batch. Throws Error as read_window_file() does, Error(kData) where
/// windows are wanted of a kind that there are none of, FieldError where the mean has other channels than the images.
std::shared_ptr<const DataSource> window_source(const WindowSourceOptions& options);

}  // namespace cortado::data
