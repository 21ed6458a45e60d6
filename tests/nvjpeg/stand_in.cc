// nvJPEG's functions for the simulated device, whose memory is host memory: libjpeg-turbo decodes. Like nvJPEG it fails
// a batch with a damaged image. It refuses JPEGs whose chroma has half the rows only (4:4:0), so that tests have an
// unsupported header.

#include <algorithm>
#include <string>
#include <vector>

#include "data/image/image.h"
#include "kernels/nvjpeg/api.h"

using namespace cortado::kernels::nvjpeg;
using cortado::data::ColorMode;

namespace cortado::kernels::nvjpeg {

struct HandleOf {};
struct StateOf {
  int images = 0;
  OutputFormat format = kInterleavedBgr;
};
struct StreamOf {
  std::string file;
};

}  // namespace cortado::kernels::nvjpeg

namespace {

constexpr Status kInvalidParameter = Status(2), kBadJpeg = Status(3);

bool decode(std::string_view file, const Image& to) {
  cortado::data::Image image;
  try {
    cortado::data::ImageDecoder().decode(file, ColorMode::kColor, image);
  } catch (const cortado::data::SampleError&) {
    return false;
  }
  const size_t row = size_t(image.width) * 3;
  for (size_t y = 0; y < size_t(image.height); ++y)
    std::copy_n(image.pixels.data() + y * row, row, to.channel[0] + y * to.pitch[0]);
  return true;
}

/// The sampling of the first component of a baseline frame: the byte after FF C0, length, precision, size, count, id.
int luma_sampling(std::string_view file) {
  const size_t at = file.find(std::string_view("\xFF\xC0\x00\x11\x08", 5));
  return at == std::string_view::npos ? 0 : uint8_t(file[at + 11]);
}

}  // namespace

extern "C" {

Status nvjpegGetProperty(Property property, int* value) {
  *value = property == kMajorVersion ? 13 : 0;
  return kSuccess;
}

Status nvjpegCreateEx(Backend backend, void*, void*, unsigned flags, Handle* handle) {
  if (backend == kHardware || flags != (kStrictBitstream | kInterpolatedChroma)) return kInvalidParameter;
  *handle = new HandleOf;
  return kSuccess;
}

Status nvjpegDestroy(Handle handle) {
  delete handle;
  return kSuccess;
}

Status nvjpegJpegStateCreate(Handle, State* state) {
  *state = new StateOf;
  return kSuccess;
}

Status nvjpegJpegStateDestroy(State state) {
  delete state;
  return kSuccess;
}

Status nvjpegJpegStreamCreate(Handle, JpegStream* stream) {
  *stream = new StreamOf;
  return kSuccess;
}

Status nvjpegJpegStreamDestroy(JpegStream stream) {
  delete stream;
  return kSuccess;
}

Status nvjpegJpegStreamParseHeader(Handle, const unsigned char* file, size_t bytes, JpegStream stream) {
  stream->file.assign(reinterpret_cast<const char*>(file), bytes);
  return luma_sampling(stream->file) != 0 ? kSuccess : kBadJpeg;
}

Status nvjpegDecodeBatchedSupported(Handle, JpegStream stream, int* unsupported) {
  *unsupported = luma_sampling(stream->file) == 0x12;
  return kSuccess;
}

Status nvjpegDecodeBatchedInitialize(Handle, State state, int images, int, OutputFormat format) {
  *state = {images, format};
  return kSuccess;
}

/// Decodes as many images as the state was initialized for.
Status nvjpegDecodeBatched(Handle, State state, const unsigned char* const* files, const size_t* bytes,
                           Image* destinations, void*) {
  if (state->images == 0 || state->format != kInterleavedBgr) return kInvalidParameter;
  for (int i = 0; i < state->images; ++i)
    if (!decode({reinterpret_cast<const char*>(files[i]), bytes[i]}, destinations[i])) {
      state->images = 0;
      return kBadJpeg;
    }
  return kSuccess;
}
}
