#pragma once

#include <string>
#include <string_view>

#include "data/image/image.h"

namespace cortado::data {

bool is_jpeg(std::string_view file);

/// libjpeg's decompressor, reused for all images.
struct ImageDecoder::Jpeg {
  Jpeg();
  ~Jpeg();

  void decode(std::string_view file, ColorMode mode, Image& out);  ///< throws SampleError

  /// See ImageDecoder::open(). Returns false if decode() has to read the whole image, because its format is rare or it
  /// does not end correctly.
  bool open(std::string_view file, ColorMode mode, Sample& out);
  SamplePart read(const SourceWindow& window, const PixelPlace& place);

 private:
  void read_header(std::string_view file, ColorMode mode, Image& out);

  struct State;
  std::unique_ptr<State> state_;
};

/// Encodes an image of 1 or 3 channels as a JPEG file. Throws SampleError.
std::string encode_jpeg(const Image& image, int quality);

}  // namespace cortado::data
