#pragma once

// What LevelDB's kinds of files share: numbers, checksums, and an error that names the file.

#include <cstdint>
#include <string>
#include <string_view>

namespace cortado::data {

[[noreturn]] void throw_damaged_leveldb(const std::string& file, const std::string& what);  ///< Error(kData)

/// Takes values off the front of bytes. Throws Error(kData) where they end too early.
class LeveldbBytes {
 public:
  LeveldbBytes(std::string_view rest, const std::string& file) : rest_(rest), file_(file) {}

  bool at_end() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }
  std::string_view take(uint64_t n);
  uint64_t fixed(int bytes);  ///< little endian
  uint64_t varint();
  std::string_view text() { return take(varint()); }  ///< behind its length

 private:
  std::string_view rest_;
  const std::string& file_;
};

/// Whether the CRC-32C of some bytes is the one that is written beside them, turned and moved as LevelDB does.
bool checksum_fits(std::string_view bytes, uint32_t written);

}  // namespace cortado::data
