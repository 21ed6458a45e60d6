#pragma once

#include <cstdint>
#include <string>

#include "data/image/image.h"

struct CortadoVideo;

namespace cortado::data {

/// Reads frames of a video file by libcortado_video.so, which is loaded at the first call.
class VideoReader {
 public:
  VideoReader() = default;
  ~VideoReader() { close(); }
  VideoReader(const VideoReader&) = delete;
  VideoReader& operator=(const VideoReader&) = delete;

  /// Opens the file from its start. Throws SampleError; if the module is missing, with a hint how to install it.
  void open(const std::string& path);
  int64_t frames() const;  ///< that the file states; 0: unknown
  /// Decodes frame `number`, from 0, to three channels. Throws SampleError.
  void read(int64_t number, Image& frame);
  void close();

 private:
  CortadoVideo* video_ = nullptr;
};

}  // namespace cortado::data
