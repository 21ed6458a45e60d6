#pragma once

// Images with a label image each, for segmentation. Labels are an additional channel of bytes after the image's, so
// crops and flips apply to both.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/source.h"

namespace cortado::data {

struct PairSourceOptions {
  std::string list;           ///< lines "image labels", or, without labels, "image"; with windows, "... x1 y1 x2 y2"
  std::string root;           ///< prepended to each path as a string
  int height = 0, width = 0;  ///< the size to which both are resized, labels by nearest neighbour; 0: not resized
  bool has_labels = true;     ///< false: all are `fill_label`
  bool has_windows = false;   ///< of each image only a window is used, corners included; outside are 0 and fill_label
  bool binary = false;        ///< labels of 128 and above are 1, all others 0
  int pad_height = 0, pad_width = 0;  ///< smaller images are padded at the bottom and on the right
  std::vector<float> fill;            ///< the padding: empty (0), one value, or one for each channel
  uint8_t fill_label = 0;             ///< the padding of labels
  bool tells_size = false;            ///< the sample's number is packed_size() of the image, limited to the padded size
};

/// Two sides below 4096 packed into an integer that a float represents.
constexpr int kMaxPackedSide = 4095;
constexpr int32_t packed_size(int height, int width) { return height * (kMaxPackedSide + 1) + width; }

/// Throws Error(kIo), or Error(kData) for invalid lines.
std::shared_ptr<const DataSource> pair_source(const PairSourceOptions& options);

}  // namespace cortado::data
