#include "data/video/video_reader.h"

#include <cstdlib>
#include <filesystem>

#include "core/companion_library.h"
#include "data/image/opencv/module.h"
#include "data/sample.h"
#include "data/video/opencv/module.h"

namespace cortado::data {

namespace {

CompanionLibrary load_videos() {
  // FFmpeg's messages; OpenCV reads it when it is loaded. -8 is AV_LOG_QUIET.
  ::setenv("OPENCV_FFMPEG_LOGLEVEL", "-8", 0);
  return CompanionLibrary("libcortado_video.so");
}

struct VideoModule {
  VideoModule() {
    library.find("cortado_video_open", open);
    library.find("cortado_video_close", close);
    library.find("cortado_video_frames", frames);
    library.find("cortado_video_read", read);
  }

  CompanionLibrary library = load_videos();
  decltype(&cortado_video_open) open = nullptr;
  decltype(&cortado_video_close) close = nullptr;
  decltype(&cortado_video_frames) frames = nullptr;
  decltype(&cortado_video_read) read = nullptr;
};

const VideoModule& video_module() {
  static const VideoModule module;
  if (!module.library.why_not().empty())
    throw SampleError(
        "OpenCV's videoio, which reads videos, cannot be loaded: " + module.library.why_not(),
        "install libopencv-dev and build again, or write the frames into folders and set use_image: true");
  return module;
}

uint8_t* frame_memory(void* user, int height, int width) {
  if (int64_t(height) * width > kMaxPixels) return nullptr;
  auto& image = *static_cast<Image*>(user);
  image.resize(3, height, width);
  return image.pixels.data();
}

}  // namespace

void VideoReader::open(const std::string& path) {
  close();
  std::error_code none;
  const std::filesystem::path file = std::filesystem::absolute(path, none);
  if (!std::filesystem::is_regular_file(file, none)) throw SampleError("the video is not a file");
  char message[kCortadoMessageBytes] = {};
  video_ = video_module().open(file.c_str(), message);
  if (!video_) throw SampleError(std::string("the video cannot be opened: ") + message);
}

int64_t VideoReader::frames() const { return video_ ? video_module().frames(video_) : 0; }

void VideoReader::read(int64_t number, Image& frame) {
  char message[kCortadoMessageBytes] = {};
  if (!video_ || video_module().read(video_, number, frame_memory, &frame, message) != 0)
    throw SampleError("frame " + std::to_string(number) + " of the video: " + message);
}

void VideoReader::close() {
  if (video_) video_module().close(video_);
  video_ = nullptr;
}

}  // namespace cortado::data
