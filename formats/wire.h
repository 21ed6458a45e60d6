#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/exit_code.h"

namespace cortado {

/// One field of a message in protobuf's wire format.
struct WireField {
  enum Type { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  uint32_t number = 0;
  Type type = kVarint;
  uint64_t value = 0;      ///< for kVarint, kFixed32 and kFixed64
  std::string_view bytes;  ///< for kBytes: a view of the file

  bool is(uint32_t n, Type t) const { return number == n && type == t; }
};

/// A file in protobuf's wire format, with its path and the exit code of errors in it.
struct WireFile {
  std::string path;
  std::string_view content;
  ExitCode code = ExitCode::kSnapshot;

  size_t offset_of(const char* byte) const { return size_t(byte - content.data()); }
  /// Throws Error(code) about this file.
  [[noreturn]] void fail(const std::string& message, const std::string& hint = {}) const;
};

/// Iterates over the fields of a message without allocating, so that wrong lengths in a hostile file cost no memory.
/// Throws Error with the byte offset if the file is truncated or corrupt.
class WireReader {
 public:
  /// Reads `message`, a view of `file`'s content, which must outlive the reader.
  WireReader(const WireFile& file, std::string_view message)
      : file_(file), at_(message.data()), end_(at_ + message.size()) {}

  /// Reads the next field; false at the end of the message.
  bool next(WireField& field);

 private:
  uint64_t varint();
  uint64_t fixed(size_t bytes);
  void need(uint64_t bytes);
  [[noreturn]] void corrupt() const;

  const WireFile& file_;
  const char* at_;
  const char* end_;
};

/// Removes the next varint of a packed field from `bytes`. Throws like WireReader.
uint64_t take_varint(const WireFile& file, std::string_view& bytes);

// For messages written in pieces: appends a varint to `out`, encodes a numeric field, and encodes the tag and length
// before the `bytes` of a kBytes field.
void put_varint(uint64_t value, std::string& out);
std::string number_field(uint32_t number, uint64_t value);
std::string field_head(uint32_t number, uint64_t bytes);
/// Appends `field` unchanged, but with field number `number`.
void put_field(const WireField& field, uint32_t number, std::string& out);

}  // namespace cortado
