#pragma once

// The subset of the protocol buffers wire format that records need: a message is a sequence of (tag, value), and a tag
// is field * 8 + wire type.

#include <cstdint>
#include <string_view>

#include "data/sample.h"

namespace cortado::data {

enum Wire { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

/// Reads values from the front of a message. Throws SampleError if the message is truncated.
class WireReader {
 public:
  explicit WireReader(std::string_view rest) : rest_(rest) {}
  bool at_end() const { return rest_.empty(); }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      value |= uint64_t(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    throw SampleError("not a Datum: a varint is too long");
  }

  std::string_view bytes() { return take(varint()); }

  std::string_view take(uint64_t n) {
    if (n > rest_.size()) throw SampleError("not a Datum, or truncated");
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }

  void skip(int wire) {
    if (wire == kVarint)
      varint();
    else if (wire == kFixed64)
      take(8);
    else if (wire == kBytes)
      bytes();
    else if (wire == kFixed32)
      take(4);
    else
      throw SampleError("not a Datum: it has a field of unknown wire type");
  }

 private:
  std::string_view rest_;
};

}  // namespace cortado::data
