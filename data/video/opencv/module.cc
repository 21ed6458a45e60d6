#include "data/video/opencv/module.h"

#include <cstring>
#include <exception>
#include <memory>
#include <opencv2/core.hpp>
#include <opencv2/videoio.hpp>
#include <string>

#include "data/image/opencv/quiet.h"

struct CortadoVideo {
  std::string path;
  cv::VideoCapture capture;
  int64_t next = 0;  ///< the frame that the capture decodes next
  cv::Mat frame;
};

namespace {

constexpr int64_t kMaxSkipped = 64;  // frames; farther ones are sought

/// Other backends would take the name of a file for a command or a pattern.
bool open_from_start(CortadoVideo& video) {
  video.next = 0;
  return video.capture.open(video.path, cv::CAP_FFMPEG) || video.capture.open(video.path, cv::CAP_OPENCV_MJPEG);
}

/// Not all formats can seek exactly, and OpenCV seeks the last frame instead of one after it.
bool seek(CortadoVideo& video, int64_t number) {
  const bool sought = video.capture.set(cv::CAP_PROP_POS_FRAMES, double(number)) &&
                      video.capture.get(cv::CAP_PROP_POS_FRAMES) == double(number);
  video.next = number;
  return sought || open_from_start(video);
}

bool move_to(CortadoVideo& video, int64_t number) {
  if ((number < video.next || number - video.next > kMaxSkipped) && !seek(video, number)) return false;
  for (; video.next < number; ++video.next)
    if (!video.capture.grab()) return false;
  return true;
}

}  // namespace

CortadoVideo* cortado_video_open(const char* path, char* message) {
  make_quiet();
  try {
    auto video = std::make_unique<CortadoVideo>();
    video->path = path;
    if (open_from_start(*video)) return video.release();
    refuse(message, "an unknown video format, or damaged");
  } catch (const std::exception& error) {
    refuse(message, error.what());
  }
  return nullptr;
}

void cortado_video_close(CortadoVideo* video) { delete video; }

int64_t cortado_video_frames(const CortadoVideo* video) {
  const double frames = video->capture.get(cv::CAP_PROP_FRAME_COUNT);
  return frames > 0 && frames < 1e15 ? int64_t(frames) : 0;
}

int cortado_video_read(CortadoVideo* video, int64_t number, CortadoFrameMemory memory, void* user, char* message) {
  try {
    if (!move_to(*video, number)) return refuse(message, "it ends before, or is damaged");
    if (!video->capture.read(video->frame)) return refuse(message, "it ends before, or is damaged");
    ++video->next;
    const cv::Mat& frame = video->frame;
    if (frame.type() != CV_8UC3) return refuse(message, "it is not a colour image of 8 bits");
    uint8_t* out = memory(user, frame.rows, frame.cols);
    if (out == nullptr) return refuse(message, "too large");
    const size_t row = size_t(frame.cols) * frame.elemSize();
    for (int y = 0; y < frame.rows; ++y) std::memcpy(out + size_t(y) * row, frame.ptr(y), row);
    return 0;
  } catch (const std::exception& error) {
    return refuse(message, error.what());
  }
}
