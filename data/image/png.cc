// PNG as simple as it gets: one IDAT chunk, rows that each repeat what differs from the row above (filter 2, "up").
//   chunk: big-endian length, type, content, CRC-32 of type and content
#include "data/image/png.h"

#include <zlib.h>

#include <cstdint>

namespace cortado::data {

namespace {

std::string big_endian(uint32_t value) { return {char(value >> 24), char(value >> 16), char(value >> 8), char(value)}; }

std::string chunk(const std::string& type, const std::string& content) {
  const std::string body = type + content;
  const uLong crc = ::crc32(0, reinterpret_cast<const Bytef*>(body.data()), uInt(body.size()));
  return big_endian(uint32_t(content.size())) + body + big_endian(uint32_t(crc));
}

std::string filtered_rows(const Image& image) {
  const size_t channels = size_t(image.channels), row_bytes = size_t(image.width) * channels;
  std::string rows, above(row_bytes, '\0'), row(row_bytes, '\0');
  for (size_t y = 0; y < size_t(image.height); ++y) {
    const uint8_t* pixels = image.pixels.data() + y * row_bytes;
    for (size_t i = 0; i < row_bytes; ++i)  // red and blue change places
      row[i] = char(pixels[channels == 3 ? i + 2 - 2 * (i % 3) : i]);
    rows += '\x02';
    for (size_t i = 0; i < row_bytes; ++i) rows += char(uint8_t(row[i]) - uint8_t(above[i]));
    above.swap(row);
  }
  return rows;
}

}  // namespace

std::string encode_png(const Image& image) {
  if (image.channels != 1 && image.channels != 3)
    throw SampleError("an image of " + std::to_string(image.channels) + " channels cannot be a PNG here");
  const std::string rows = filtered_rows(image);
  uLongf size = ::compressBound(uLong(rows.size()));
  std::string packed(size, '\0');
  const int status = ::compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                                 reinterpret_cast<const Bytef*>(rows.data()), uLong(rows.size()), 6);
  if (status != Z_OK) throw SampleError("the PNG cannot be compressed");
  packed.resize(size);
  const char color = image.channels == 3 ? 2 : 0;
  return std::string("\x89PNG\r\n\x1A\n", 8) +
         chunk("IHDR", big_endian(uint32_t(image.width)) + big_endian(uint32_t(image.height)) +
                           std::string{8, color, 0, 0, 0}) +
         chunk("IDAT", packed) + chunk("IEND", "");
}

}  // namespace cortado::data
