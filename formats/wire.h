#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/exit_code.h"

namespace cortado {

/// One field of a message in protobuf's binary form.
struct WireField {
  enum Type { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  uint32_t number = 0;
  Type type = kVarint;
  uint64_t value = 0;      ///< of a kVarint, kFixed32 or kFixed64
  std::string_view bytes;  ///< of a kBytes: a view of the file

  bool is(uint32_t n, Type t) const { return number == n && type == t; }
};

/// A file in protobuf's binary form: where it came from, and the exit code of what is wrong with it.
struct WireFile {
  std::string path;
  std::string_view content;
  ExitCode code = ExitCode::kSnapshot;

  size_t offset_of(const char* byte) const { return size_t(byte - content.data()); }
  /// Throws Error(code) about this file.
  [[noreturn]] void fail(const std::string& message, const std::string& hint = {}) const;
};

/// Walks over the fields of a message without building anything, so that a file that lies about its lengths costs
/// nothing. Throws Error with the byte where the file ends too early or is no message.
class WireReader {
 public:
  /// Reads `message`, a view of `file`'s content, which outlives this.
  WireReader(const WireFile& file, std::string_view message)
      : file_(file), at_(message.data()), end_(at_ + message.size()) {}

  /// The next field; false at the end of the message.
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

/// The next varint of a packed field; takes it off `bytes`. Throws as WireReader does.
uint64_t take_varint(const WireFile& file, std::string_view& bytes);

// What messages that are written in pieces are made of: a varint at the end of `out`, a field that is a number, and
// what stands before the `bytes` of a kBytes field.
void put_varint(uint64_t value, std::string& out);
std::string number_field(uint32_t number, uint64_t value);
std::string field_head(uint32_t number, uint64_t bytes);
/// `field` as it was read, under `number`.
void put_field(const WireField& field, uint32_t number, std::string& out);

}  // namespace cortado
