#pragma once

#include <string>
#include <string_view>

#include "data/image/image.h"

namespace cortado::data {

bool is_jpeg(std::string_view file);

/// libjpeg's decompressor, kept between images.
struct ImageDecoder::Jpeg {
  Jpeg();
  ~Jpeg();

  void decode(std::string_view file, ColorMode mode, Image& out);  ///< throws SampleError

  /// As ImageDecoder's. False: decode() has to read it whole, as it is of a rare kind or does not end as it should.
  bool open(std::string_view file, ColorMode mode, Sample& out);
  SamplePart read(const SourceWindow& window, const PixelPlace& place);

 private:
  void read_header(std::string_view file, ColorMode mode, Image& out);

  struct State;
  std::unique_ptr<State> state_;
};

/// An image of 1 or 3 channels to a JPEG file's content. Throws SampleError.
std::string encode_jpeg(const Image& image, int quality);

}  // namespace cortado::data
