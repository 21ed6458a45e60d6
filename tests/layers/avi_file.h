#pragma once

// A film: an AVI file of JPEGs (MJPG), 25 frames a second.

#include <cstdint>
#include <string>
#include <vector>

namespace cortado::harness {

inline std::string avi_number(uint32_t v) { return {char(v), char(v >> 8), char(v >> 16), char(v >> 24)}; }

inline std::string avi_numbers(const std::vector<uint32_t>& values) {
  std::string bytes;
  for (const uint32_t v : values) bytes += avi_number(v);
  return bytes;
}

inline std::string avi_chunk(const std::string& name, const std::string& content) {
  return name + avi_number(uint32_t(content.size())) + content + std::string(content.size() % 2, '\0');
}

inline std::string avi_film(const std::vector<std::string>& jpegs, uint32_t height, uint32_t width) {
  const uint32_t frames = uint32_t(jpegs.size()), size = height * width * 3;
  const std::string main = avi_numbers({40000, size * 25, 0, 0x10, frames, 0, 1, size, width, height, 0, 0, 0, 0});
  const std::string stream =
      "vidsMJPG" + avi_numbers({0, 0, 0, 1, 25, 0, frames, size, 0xffffffff, 0, 0, width | height << 16});
  const std::string format = avi_numbers({40, width, height, 1 | 24 << 16}) + "MJPG" + avi_numbers({size, 0, 0, 0, 0});
  std::string movie = "movi", index;
  for (const std::string& jpeg : jpegs) {
    index += "00dc" + avi_numbers({0x10, uint32_t(movie.size()), uint32_t(jpeg.size())});
    movie += avi_chunk("00dc", jpeg);
  }
  const std::string streams = avi_chunk("LIST", "strl" + avi_chunk("strh", stream) + avi_chunk("strf", format));
  const std::string header = avi_chunk("LIST", "hdrl" + avi_chunk("avih", main) + streams);
  return avi_chunk("RIFF", "AVI " + header + avi_chunk("LIST", movie) + avi_chunk("idx1", index));
}

}  // namespace cortado::harness
