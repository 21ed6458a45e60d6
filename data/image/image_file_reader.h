#pragma once

#include <string>

#include "data/image/image.h"

namespace cortado::data {

/// Reads image files whole, into memory that is kept from one to the next.
class ImageFileReader {
 public:
  /// The content of the file, until the next call. Throws SampleError with the system's reason.
  std::string_view read(const std::string& path);

 private:
  std::string content_;
};

}  // namespace cortado::data
