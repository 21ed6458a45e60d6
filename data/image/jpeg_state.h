#pragma once

// libjpeg behind a trap, for jpeg*.cc alone. libjpeg reports errors by longjmp: no object with a destructor lives in a
// frame that is jumped out of. libjpeg only warns when data is missing and paints the rest grey; such warnings are
// errors here.

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <string>

// jerror.h numbers its codes by what jpeglib.h defines, so their order counts.
// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include "data/image/jpeg.h"

namespace cortado::data {

/// What both directions share: where to jump, and what to say.
struct JpegTrap {
  jpeg_error_mgr manager;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = {};

  static JpegTrap& of(j_common_ptr info) { return *static_cast<JpegTrap*>(info->client_data); }

  [[noreturn]] static void on_error(j_common_ptr info) {
    JpegTrap& trap = of(info);
    info->err->format_message(info, trap.message);
    std::longjmp(trap.jump, 1);
  }

  static void on_message(j_common_ptr info, int level) {
    if (level >= 0) return;
    switch (info->err->msg_code) {
      case JWRN_HIT_MARKER:
      case JWRN_JPEG_EOF:
      case JWRN_HUFF_BAD_CODE:
      case JWRN_ARITH_BAD_CODE:
      case JWRN_MUST_RESYNC:
        on_error(info);
      default:
        break;  // odd, but nothing is lost
    }
  }

  static void on_output(j_common_ptr) {}

  void attach(j_common_ptr info) {
    info->err = jpeg_std_error(&manager);
    info->client_data = this;
    manager.error_exit = on_error;
    manager.emit_message = on_message;
    manager.output_message = on_output;
  }
};

/// The decompressor. Its functions that call libjpeg return false when they were jumped out of.
struct ImageDecoder::Jpeg::State {
  JpegTrap trap;
  jpeg_progress_mgr progress = {};
  jpeg_decompress_struct info = {};
  bool ends_well = false;  ///< the file ends as a JPEG does, so it was not cut off

  bool header(std::string_view file, ColorMode mode);
  bool pixels(uint8_t* out, size_t row_bytes);

  // A part: start, then rows.
  bool start(int eighths);                        ///< decoding at eighths / 8 of the scale
  bool choose_columns(int first, int last);       ///< at least these, of the scaled image
  bool rows(int first, int count, uint8_t* out);  ///< of the chosen columns
  int first_column = 0;                           ///< the first that is given

  [[noreturn]] void fail() {
    jpeg_abort_decompress(&info);
    throw SampleError(std::string("the JPEG cannot be decoded: ") + trap.message);
  }
};

}  // namespace cortado::data
