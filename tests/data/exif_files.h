#pragma once

// Files with an EXIF block, for tests and fuzzers.

#include <zlib.h>

#include <cstdint>
#include <string>

namespace cortado::data::testing {

/// `value` as `n` bytes.
inline std::string number_of(uint32_t value, int n, bool high_first) {
  std::string bytes;
  for (int i = 0; i < n; ++i) bytes += char(value >> (high_first ? 8 * (n - 1 - i) : 8 * i));
  return bytes;
}

/// The JPEG with the block in a segment after its start.
inline std::string jpeg_with(const std::string& file, const std::string& block) {
  const std::string content = std::string("Exif\0\0", 6) + block;
  return file.substr(0, 2) + "\xFF\xE1" + number_of(uint32_t(content.size() + 2), 2, true) + content + file.substr(2);
}

/// The PNG with the block in a chunk after its header.
inline std::string png_with(const std::string& file, const std::string& block) {
  const std::string chunk = "eXIf" + block;
  const auto sum = ::crc32(0, reinterpret_cast<const Bytef*>(chunk.data()), uInt(chunk.size()));
  constexpr size_t kHeadBytes = 8 + 25;  // the signature and IHDR
  return file.substr(0, kHeadBytes) + number_of(uint32_t(block.size()), 4, true) + chunk +
         number_of(uint32_t(sum), 4, true) + file.substr(kHeadBytes);
}

}  // namespace cortado::data::testing
