#pragma once

// Batched JPEG decoding on a device, from host memory to device memory.

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
  uint8_t* to = nullptr;  ///< device memory: height x width x 3 bytes, BGR
  int width = 0;
};

/// nvJPEG, loaded with the first decoder. Uses the GPU's hardware decoder if present, else nvJPEG's kernels. On the
/// simulated device it is libcortado_simulated_nvjpeg.so, which the tests build. Not thread-safe.
class JpegDecoder {
 public:
  /// The number of batches in flight; each has its own memory.
  static constexpr int kTurns = 2;

  /// Throws MissingLibrary, or Error(kDevice) if the library cannot be initialized.
  explicit JpegDecoder(Context& context);
  ~JpegDecoder();
  JpegDecoder(JpegDecoder&&) noexcept;

  /// "nvJPEG 13.3, the GPU's decoders" or "nvJPEG 13.3, kernels".
  const std::string& name() const;

  /// Enqueues the decoding of all tasks. The files must stay in memory, and the turn must not be reused, until that
  /// work is done. Returns the indices of files that the library cannot decode, for which it writes nothing; this
  /// depends only on the file.
  std::vector<size_t> decode(Context& context, int turn, std::span<const JpegTask> tasks);

 private:
  class Library;
  std::unique_ptr<Library> library_;
};

}  // namespace cortado::kernels
