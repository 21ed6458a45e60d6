// Encodes images as JPEG.
#include "data/image/jpeg_state.h"

namespace cortado::data {

namespace {

/// The compressor and the buffer that libjpeg allocates for its output.
struct Compressor {
  JpegTrap trap;
  jpeg_compress_struct info = {};
  unsigned char* buffer = nullptr;
  unsigned long size = 0;

  ~Compressor() {
    jpeg_destroy_compress(&info);
    std::free(buffer);
  }

  bool run(const Image& image, int quality) {
    trap.attach(reinterpret_cast<j_common_ptr>(&info));
    if (setjmp(trap.jump)) return false;
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &buffer, &size);
    info.image_width = JDIMENSION(image.width);
    info.image_height = JDIMENSION(image.height);
    info.input_components = image.channels;
    info.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_EXT_BGR;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, quality, TRUE);
    jpeg_start_compress(&info, TRUE);
    while (info.next_scanline < info.image_height) {
      const size_t row_bytes = size_t(image.width) * size_t(image.channels);
      auto* row = const_cast<JSAMPROW>(image.pixels.data() + info.next_scanline * row_bytes);
      jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
    return true;
  }
};

}  // namespace

std::string encode_jpeg(const Image& image, int quality) {
  if (image.channels != 1 && image.channels != 3)
    throw SampleError("an image of " + std::to_string(image.channels) + " channels cannot be a JPEG");
  Compressor compressor;
  if (!compressor.run(image, quality)) throw SampleError(std::string("libjpeg: ") + compressor.trap.message);
  return std::string(reinterpret_cast<const char*>(compressor.buffer), compressor.size);
}

}  // namespace cortado::data
