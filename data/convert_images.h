#pragma once

#include <string>
#include <vector>

#include "data/convert.h"
#include "data/dataset_builder.h"

namespace cortado::data {

/// One image that is to become a record.
struct ImageEntry {
  std::string file;  ///< where it is
  std::string name;  ///< as it appears in the key and in the report
  int32_t label = 0;
  int64_t line = 0;  ///< in a list file; 0: none
};

/// Checks what no image is needed for. Throws Error(kUsage).
void check_image_options(const ImageOptions& options);

/// Adds the images in order (shuffled first where that is asked for), with keys "%08d_name"; what cannot be used is
/// rejected, by its line in `list` where it has one.
void add_images(std::vector<ImageEntry> entries, const std::string& list, const ImageOptions& options,
                DatasetBuilder& builder);

}  // namespace cortado::data
