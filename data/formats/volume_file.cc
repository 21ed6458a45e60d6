#include "data/formats/volume_file.h"

#include <cstring>

#include "core/error.h"
#include "core/files/file.h"
#include "data/sample.h"

namespace cortado::data {

namespace {

constexpr int64_t kMaxVolumeValues = int64_t(1) << 28;
constexpr size_t kVolumeHeader = 5 * sizeof(int32_t);

std::string volume_content(const std::string& path) {
  try {
    return read_file(path, kMaxVolumeValues * int64_t(sizeof(float)) + int64_t(kVolumeHeader));
  } catch (const Error& error) {
    throw SampleError(error.mistakes().front().message);
  }
}

}  // namespace

bool Volume::same_shape(const Volume& other) const {
  return channels == other.channels && length == other.length && height == other.height && width == other.width;
}

std::string Volume::shape_str() const {
  return std::to_string(channels) + "x" + std::to_string(length) + "x" + std::to_string(height) + "x" +
         std::to_string(width);
}

void read_volume(const std::string& path, bool bytes, Volume& volume) {
  const std::string content = volume_content(path);
  int32_t dims[5] = {};
  if (content.size() < kVolumeHeader) throw SampleError("it is too short for a volume");
  std::memcpy(dims, content.data(), kVolumeHeader);
  int64_t count = 1;
  for (const int32_t dim : dims) {
    if (dim < 1 || dim > kMaxVolumeValues / count)
      throw SampleError("its size is " + std::to_string(dims[0]) + "x" + std::to_string(dims[1]) + "x" +
                            std::to_string(dims[2]) + "x" + std::to_string(dims[3]) + "x" + std::to_string(dims[4]),
                        "use files that begin with 1, channels, length, height and width as int32");
    count *= dim;
  }
  if (dims[0] != 1) throw SampleError("it has " + std::to_string(dims[0]) + " volumes", "use one volume a file");
  const size_t size = size_t(count) * (bytes ? 1 : sizeof(float));
  if (content.size() != kVolumeHeader + size)
    throw SampleError("it has " + std::to_string(content.size()) + " bytes, but its size needs " +
                          std::to_string(kVolumeHeader + size),
                      bytes ? "" : "set use_byte_input: true if its values are bytes");
  volume.channels = dims[1], volume.length = dims[2], volume.height = dims[3], volume.width = dims[4];
  volume.values.resize(size_t(count));
  const char* from = content.data() + kVolumeHeader;
  if (!bytes) std::memcpy(volume.values.data(), from, size);
  for (size_t i = 0; bytes && i < size; ++i) volume.values[i] = float(uint8_t(from[i]));
}

}  // namespace cortado::data
