#pragma once

// The C interface of libcortado_opencv.so. OpenCV brings some 140 libraries, which cost start-up time and memory, so
// the program does not link it; this module does, and is loaded only when a file needs it. Nothing C++ crosses the
// border.

#include <stddef.h>
#include <stdint.h>

extern "C" {

enum { kCortadoAsStored = 0, kCortadoColor = 1, kCortadoGray = 2, kCortadoMessageBytes = 256 };

/// Gives memory for channels x height x width bytes (height x width x channels in order), or null to refuse.
typedef uint8_t* (*CortadoImageMemory)(void* user, int channels, int height, int width);
/// Takes an encoded file.
typedef void (*CortadoTakeBytes)(void* user, const uint8_t* bytes, size_t size);

/// Both return 0, or another number and a message of at most kCortadoMessageBytes with its end.
int cortado_opencv_decode(const uint8_t* file, size_t size, int mode, CortadoImageMemory memory, void* user,
                          char* message);
int cortado_opencv_encode(const uint8_t* pixels, int channels, int height, int width, const char* extension,
                          CortadoTakeBytes take, void* user, char* message);
}
