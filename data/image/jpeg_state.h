#pragma once

// Error handling for libjpeg, for jpeg*.cc only. libjpeg reports errors by longjmp, so no object with a destructor may
// be in a stack frame that is skipped. libjpeg only warns about missing data and fills the rest with grey; such
// warnings are errors here.

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <string>

// jerror.h defines its codes depending on jpeglib.h's macros, so the order of includes matters.
// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include "data/image/jpeg.h"

namespace cortado::data {

/// Common state of decompression and compression: the jump target and the message.
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
        break;  // unusual, but no data is lost
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

/// The decompressor. Functions that call libjpeg return false after an error.
struct ImageDecoder::Jpeg::State {
  JpegTrap trap;
  jpeg_progress_mgr progress = {};
  jpeg_decompress_struct info = {};
  bool ends_well = false;  ///< the file ends with a JPEG's end marker, so it was not truncated

  bool header(std::string_view file, ColorMode mode);
  bool pixels(uint8_t* out, size_t row_bytes);

  // For a part: start(), then rows().
  bool start(int eighths);                        ///< decode at eighths / 8 of the scale
  bool choose_columns(int first, int last);       ///< at least these, in the scaled image
  bool rows(int first, int count, uint8_t* out);  ///< of the chosen columns
  int first_column = 0;                           ///< the first one that rows() writes

  [[noreturn]] void fail() {
    jpeg_abort_decompress(&info);
    throw SampleError(std::string("the JPEG cannot be decoded: ") + trap.message);
  }
};

}  // namespace cortado::data
