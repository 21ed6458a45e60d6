#pragma once

// Lists of image files, as ImageData and convert_imageset read them: a path, a space, a label on each line. Paths may
// hold spaces: the label is what follows the last one.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace cortado::data {

struct ListedImage {
  std::string_view name;
  int32_t label = 0;
};

/// One line. Returns what is wrong with it, or "".
std::string parse_image_line(std::string_view line, ListedImage& image);

/// Calls `body(line, number)` for every line that is not blank, without the white space at its end; numbers count
/// from 1.
void for_each_line(std::string_view text, const std::function<void(std::string_view line, int64_t number)>& body);

class ImageList {
 public:
  /// Throws Error(kIo), or Error(kData) with the place of every line that is wrong (of the first 20, and how many more
  /// there are), or when no image is listed.
  explicit ImageList(const std::string& path);

  const std::string& path() const { return path_; }
  size_t size() const { return images_.size(); }
  const ListedImage& operator[](size_t i) const { return images_[i]; }
  Place place(size_t i) const;  ///< of the image's line

 private:
  std::string path_, text_;
  std::vector<ListedImage> images_;
  std::vector<int32_t> lines_;
};

}  // namespace cortado::data
