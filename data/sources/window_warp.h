#pragma once

// How R-CNN brings a window to the size of the net's input: the window is widened so that, once warped, it has
// `context_pad` pixels of its surroundings on each side; what of them lies outside of the image stays at the mean, 0.

#include "data/formats/mean_file.h"
#include "data/image/image.h"
#include "data/sources/window_file.h"

namespace cortado::data {

struct WarpOptions {
  int crop = 0;         ///< the result is crop x crop
  int context_pad = 0;  ///< below crop / 2
  bool square = false;  ///< the window is first widened to a square about its centre
};

/// The part of the image that is seen, and the rectangle of the result that it is warped to; the rest is 0.
struct WarpPlace {
  SourcePart part;
  int top, left, height, width;
};

/// Where a window goes; `mirror` says that the result will be flipped. Throws SampleError where nothing of the window
/// lies in the image, and, if it is not widened, where a part of it does not.
WarpPlace place_window(const Window& window, const WarpOptions& options, bool mirror, int height, int width);

/// What pixels become: (value - mean) * scale; the mean image's middle is laid over the result, mirrored or not.
struct WarpValues {
  float scale = 1;
  std::vector<float> mean_values;         ///< none, one, or one for each channel
  std::shared_ptr<const MeanImage> mean;  ///< null, or at least crop x crop
};

/// out (channels x crop x crop) = `part`, warped to its place. `warped` is a buffer.
void warp_window(const Image& part, const WarpPlace& place, const WarpOptions& options, bool mirror,
                 const WarpValues& values, Image& warped, float* out);

}  // namespace cortado::data
