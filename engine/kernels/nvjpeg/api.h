#pragma once

// The functions of nvJPEG that are called here, as its header declares them (major version 13). They are declared anew
// because few machines have the header, and a build without CUDA has use for them, too: on the simulated device tests
// put a library of their own behind the same face. Included by files of this folder and by that library.

#include <cstddef>

namespace cortado::kernels::nvjpeg {

struct HandleOf;
struct StateOf;
struct StreamOf;
using Handle = HandleOf*;
using State = StateOf*;
using JpegStream = StreamOf*;

enum Status : int {  // those that are no fault of a file
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

/// Where an image goes; interleaved formats use the first channel alone.
struct Image {
  unsigned char* channel[4];
  size_t pitch[4];
};

/// Every function that is called anywhere, by its name there less "nvjpeg". Streams of CUDA are handed on as they are.
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

/// Those of the library `file`, which is opened. Throws MissingLibrary.
Functions open_functions(const char* file);

}  // namespace cortado::kernels::nvjpeg
