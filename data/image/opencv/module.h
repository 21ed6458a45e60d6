#pragma once

// The C interface of libcortado_opencv.so. OpenCV depends on some 140 libraries, which increase start-up time and
// memory. So the program does not link it. This module does, and it is loaded only if a file needs it. No C++ types
// cross the interface.

#include <stddef.h>
#include <stdint.h>

extern "C" {

enum { kCortadoAsStored = 0, kCortadoColor = 1, kCortadoGray = 2, kCortadoMessageBytes = 256 };

/// Allocates memory for channels x height x width bytes (in the order height x width x channels); returns null on
/// failure.
typedef uint8_t* (*CortadoImageMemory)(void* user, int channels, int height, int width);
/// Receives an encoded file.
typedef void (*CortadoTakeBytes)(void* user, const uint8_t* bytes, size_t size);

/// Both return 0 on success. Otherwise they write a message of at most kCortadoMessageBytes with the terminating zero.
int cortado_opencv_decode(const uint8_t* file, size_t size, int mode, CortadoImageMemory memory, void* user,
                          char* message);
int cortado_opencv_encode(const uint8_t* pixels, int channels, int height, int width, const char* extension,
                          CortadoTakeBytes take, void* user, char* message);
}
