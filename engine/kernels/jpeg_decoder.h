#pragma once

// JPEGs that a device decodes: whole images, several at once, from the host's memory to the device's.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/context.h"

namespace cortado::kernels {

struct JpegTask {
  std::string_view file;
  uint8_t* to = nullptr;  ///< device memory: height x width x 3 bytes; blue, green, red
  int width = 0;
};

/// nvJPEG, opened when the first decoder is made: its hardware where the GPU has some, else its kernels. On the
/// simulated device it is libcortado_simulated_nvjpeg.so, a library of the tests'. Used by one thread at a time.
class JpegDecoder {
 public:
  /// Batches that may be under way at once; each has memory of its own.
  static constexpr int kTurns = 2;

  /// Throws MissingLibrary, or Error(kDevice) where the library cannot work.
  explicit JpegDecoder(Context& context);
  ~JpegDecoder();
  JpegDecoder(JpegDecoder&&) noexcept;

  /// "nvJPEG 13.3, the GPU's decoders" or "nvJPEG 13.3, kernels".
  const std::string& name() const;

  /// Puts the decoding of all tasks into the context's work. Files stay where they are until that is done, and a turn
  /// comes again when it is. Gives the indices of those that the library refuses, of which nothing is written: whether
  /// it does depends on the file alone.
  std::vector<size_t> decode(Context& context, int turn, std::span<const JpegTask> tasks);

 private:
  class Library;
  std::unique_ptr<Library> library_;
};

}  // namespace cortado::kernels
