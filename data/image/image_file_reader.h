#pragma once

#include <string>

#include "data/image/image.h"

namespace cortado::data {

/// Reads whole image files and reuses its memory for the next one.
class ImageFileReader {
 public:
  /// The content of the file, valid until the next call. Throws SampleError with the system's error message.
  std::string_view read(const std::string& path);

 private:
  std::string content_;
};

}  // namespace cortado::data
