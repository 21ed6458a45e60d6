#pragma once

// R-CNN's resizing of a window to the size of the net's input. The window is extended so that, after warping, it has
// `context_pad` pixels of context on each side. Context outside of the image is filled with the mean, which is 0.

#include "data/formats/mean_file.h"
#include "data/image/image.h"
#include "data/sources/window_file.h"

namespace cortado::data {

struct WarpOptions {
  int crop = 0;         ///< the result is crop x crop
  int context_pad = 0;  ///< below crop / 2
  bool square = false;  ///< the window is first extended to a square around its centre
};

/// The visible part of the image, and the rectangle of the result to which it is warped; the rest is 0.
struct WarpPlace {
  SourcePart part;
  int top, left, height, width;
};

/// The place of a window; `mirror`: the result will be flipped. Throws SampleError if the window is completely outside
/// of the image, or, if it is not extended, partly outside.
WarpPlace place_window(const Window& window, const WarpOptions& options, bool mirror, int height, int width);

/// The normalization of pixels: (value - mean) * scale. The centre of the mean image is used, mirrored or not.
struct WarpValues {
  float scale = 1;
  std::vector<float> mean_values;         ///< none, one, or one for each channel
  std::shared_ptr<const MeanImage> mean;  ///< null, or at least crop x crop
};

/// Writes `part`, warped to its place, to out (channels x crop x crop). `warped` is a buffer.
void warp_window(const Image& part, const WarpPlace& place, const WarpOptions& options, bool mirror,
                 const WarpValues& values, Image& warped, float* out);

}  // namespace cortado::data
