#pragma once

// JPEGs of every chroma subsampling that cameras write.

#include <cstdio>
#include <cstdlib>
// after cstdio
#include <jpeglib.h>

#include <cmath>

#include "tests/data/fixtures.h"

namespace cortado::data::testing {

/// The options of a file.
struct Kind {
  const char* name;
  int components, h, v;  ///< of luma; chroma has 1 x 1
  bool progressive;
};

inline const Kind kKinds[] = {{"4:2:0", 3, 2, 2, false},  {"4:2:2", 3, 2, 1, false}, {"4:4:4", 3, 1, 1, false},
                              {"4:4:0", 3, 1, 2, false},  {"4:1:1", 3, 4, 1, false}, {"gray", 1, 1, 1, false},
                              {"4:2:0 p", 3, 2, 2, true}, {"4:2:2 p", 3, 2, 1, true}};

/// `inverted`: with Adobe's marker, which for CMYK means that stored values are light, not ink.
inline std::string encode(const Image& image, const Kind& kind, bool inverted = false) {
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &buffer, &size);
  info.image_width = JDIMENSION(image.width);
  info.image_height = JDIMENSION(image.height);
  info.input_components = kind.components;
  info.in_color_space = kind.components == 1 ? JCS_GRAYSCALE : kind.components == 4 ? JCS_CMYK : JCS_EXT_BGR;
  jpeg_set_defaults(&info);
  info.write_Adobe_marker = inverted ? TRUE : FALSE;
  jpeg_set_quality(&info, 90, TRUE);
  info.comp_info[0].h_samp_factor = kind.h;
  info.comp_info[0].v_samp_factor = kind.v;
  if (kind.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<JSAMPROW>(image.pixels.data()) + size_t(info.next_scanline) * image.width * kind.components;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::string file(reinterpret_cast<char*>(buffer), size);
  std::free(buffer);
  jpeg_destroy_compress(&info);
  return file;
}

/// Colours that change at every pixel, so that a shift by one pixel is detected.
inline Image textured(RandomStream& random, int channels, int height, int width) {
  Image image;
  image.resize(channels, height, width);
  for (size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = uint8_t(128 + 60 * std::sin(double(i) * 0.037) + double(random.below(60)));
  return image;
}

}  // namespace cortado::data::testing
