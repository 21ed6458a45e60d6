#pragma once

// The functions of nvJPEG used here, as declared in its header (major version 13). They are declared again because few
// machines have the header, and builds without CUDA need them, too: tests on the simulated device provide a library
// with the same interface. Included by files in this folder and by that library.

#include <cstddef>

namespace cortado::kernels::nvjpeg {

struct HandleOf;
struct StateOf;
struct StreamOf;
using Handle = HandleOf*;
using State = StateOf*;
using JpegStream = StreamOf*;

enum Status : int {  // those not caused by a file
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocatorFailure = 5,
  kExecutionFailed = 6,
  kArchMismatch = 7,
};
enum Property : int { kMajorVersion = 0, kMinorVersion = 1 };
enum Backend : int { kGpuHybrid = 2, kHardware = 3 };
enum OutputFormat : int { kInterleavedBgr = 6 };
enum Flags : unsigned { kStrictBitstream = 1u << 2, kInterpolatedChroma = 1u << 5 };

/// The destination of an image; interleaved formats use only the first channel.
struct Image {
  unsigned char* channel[4];
  size_t pitch[4];
};

/// All functions that are used, by name without "nvjpeg". CUDA streams are passed through.
struct Functions {
  Status (*GetProperty)(Property, int* value);
  Status (*CreateEx)(Backend, void* device_allocator, void* pinned_allocator, unsigned flags, Handle*);
  Status (*Destroy)(Handle);
  Status (*JpegStateCreate)(Handle, State*);
  Status (*JpegStateDestroy)(State);
  Status (*JpegStreamCreate)(Handle, JpegStream*);
  Status (*JpegStreamDestroy)(JpegStream);
  Status (*JpegStreamParseHeader)(Handle, const unsigned char* file, size_t bytes, JpegStream);
  Status (*DecodeBatchedSupported)(Handle, JpegStream, int* unsupported);
  Status (*DecodeBatchedInitialize)(Handle, State, int images, int cpu_threads, OutputFormat);
  Status (*DecodeBatched)(Handle, State, const unsigned char* const* files, const size_t* bytes, Image* destinations,
                          void* cuda_stream);
};

/// Loads the library `file`. Throws MissingLibrary.
Functions open_functions(const char* file);

}  // namespace cortado::kernels::nvjpeg
