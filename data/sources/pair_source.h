#pragma once

// Images with an image of labels each, for segmentation. The labels come as one more channel behind the image's, of
// bytes, so whatever crops and flips an image does the same to its labels.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/source.h"

namespace cortado::data {

struct PairSourceOptions {
  std::string list;                   ///< lines "image labels", or, without labels, "image"
  std::string root;                   ///< put before each path as it is
  int height = 0, width = 0;          ///< what both are brought to, labels by their nearest pixel; 0: they stay
  bool has_labels = true;             ///< false: all are `fill_label`
  bool binary = false;                ///< labels of 128 and more are 1, all others 0
  int pad_height = 0, pad_width = 0;  ///< smaller images are filled below and on the right
  std::vector<float> fill;            ///< with this: nothing (0), one value, or one for each channel
  uint8_t fill_label = 0;             ///< and their labels with this
  bool tells_size = false;            ///< the sample's number is packed_size() of the image, up to the padded size
};

/// Two sides below 4096 as a whole number that a float holds.
constexpr int kMaxPackedSide = 4095;
constexpr int32_t packed_size(int height, int width) { return height * (kMaxPackedSide + 1) + width; }

/// Throws Error(kIo), or Error(kData) for lines that are wrong.
std::shared_ptr<const DataSource> pair_source(const PairSourceOptions& options);

}  // namespace cortado::data
