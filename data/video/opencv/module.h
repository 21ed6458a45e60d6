#pragma once

// The C interface of libcortado_video.so, which reads videos by OpenCV and FFmpeg. Like the module of images
// (data/image/opencv/module.h) it is loaded only if a net needs it, and no C++ types cross the interface.

#include <stddef.h>
#include <stdint.h>

extern "C" {

typedef struct CortadoVideo CortadoVideo;

/// Allocates memory for height x width x 3 bytes; returns null on failure.
typedef uint8_t* (*CortadoFrameMemory)(void* user, int height, int width);

/// Opens a file; `path` is absolute. Returns null on failure, with a message of at most kCortadoMessageBytes
/// (data/image/opencv/module.h).
CortadoVideo* cortado_video_open(const char* path, char* message);
void cortado_video_close(CortadoVideo* video);
/// The number of frames that the file states; may be wrong.
int64_t cortado_video_frames(const CortadoVideo* video);
/// Decodes frame `number`, from 0, as blue, green, red. Returns 0 on success, otherwise 1 and a message. Consecutive
/// frames are the fastest.
int cortado_video_read(CortadoVideo* video, int64_t number, CortadoFrameMemory memory, void* user, char* message);
}
