#pragma once

// Lists of image files in the format of ImageData and convert_imageset: a path, a space and a label on each line. Paths
// may contain spaces, because the label follows the last one. With several label numbers, these are the last words.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/sources/list_file.h"

namespace cortado::data {

struct ListedImage {
  std::string_view name;
  int32_t label = 0;
};

/// Parses one line. Returns the error, or "".
std::string parse_image_line(std::string_view line, ListedImage& image);

class ImageList {
 public:
  /// Throws Error like ListFile. With `label_numbers` above 1 the label of an image is its index in the list, and
  /// label_rows() has the numbers of the list.
  explicit ImageList(const std::string& path, int label_numbers = 1);

  const std::string& path() const { return file_.path(); }
  size_t size() const { return images_.size(); }
  const ListedImage& operator[](size_t i) const { return images_[i]; }
  const std::vector<float>& label_rows() const { return rows_; }  ///< label_numbers for each image
  Place place(size_t i) const { return file_.place(i); }          ///< of the image's line
  [[noreturn]] void fail(size_t i, const SampleError& error) const { file_.fail(i, images_[i].name, error); }

 private:
  static constexpr size_t kMaxRows = size_t(1) << 24;  ///< limit so that a float represents each index

  std::string parse(std::string_view line, int label_numbers);
  std::string parse_row(std::string_view line, int label_numbers);

  std::vector<ListedImage> images_;
  std::vector<float> rows_;
  ListFile file_;
};

}  // namespace cortado::data
