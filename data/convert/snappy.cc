// The unpacked length, as a varint; then elements. The low two bits of an element's first byte tell its kind:
//   0  literal: the upper six bits are its length - 1, or from 60 on say that 1 to 4 bytes with it follow
//   1  copy of 4 + 3 bits of length from 11 bits of distance back
//   2  copy of 1 + 6 bits of length from 16 bits of distance back; 3: from 32 bits
// A copy may reach into what it writes itself.
#include "data/convert/snappy.h"

#include <cstdint>

namespace cortado::data {

namespace {

/// No element makes more of a byte: three bytes copy at most 64.
constexpr uint64_t kMaxGrowth = 32;

class Input {
 public:
  explicit Input(std::string_view rest) : rest_(rest) {}
  bool at_end() const { return rest_.empty(); }

  /// `n` bytes, little endian.
  bool number(int n, uint64_t& value) {
    if (rest_.size() < size_t(n)) return false;
    value = 0;
    for (int i = 0; i < n; ++i) value |= uint64_t(uint8_t(rest_[size_t(i)])) << 8 * i;
    rest_.remove_prefix(size_t(n));
    return true;
  }

  bool varint(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      uint64_t byte = 0;
      if (!number(1, byte)) return false;
      value |= (byte & 0x7F) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  bool literal(uint64_t n, std::string& out) {
    if (rest_.size() < n) return false;
    out.append(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return true;
  }

 private:
  std::string_view rest_;
};

bool take_literal(Input& in, uint64_t tag, uint64_t most, std::string& out) {
  uint64_t length = tag >> 2;
  if (length >= 60 && !in.number(int(length) - 59, length)) return false;
  return length < most && in.literal(length + 1, out);
}

bool take_copy(Input& in, uint64_t tag, uint64_t most, std::string& out) {
  const int kind = int(tag & 3);
  uint64_t distance = 0;
  if (!in.number(kind == 1 ? 1 : kind == 2 ? 2 : 4, distance)) return false;
  uint64_t length = (tag >> 2) + 1;
  if (kind == 1) {
    length = 4 + (tag >> 2 & 7);
    distance |= tag >> 5 << 8;
  }
  if (distance == 0 || distance > out.size() || length > most) return false;
  for (size_t from = out.size() - distance; length > 0; --length) out.push_back(out[from++]);
  return true;
}

}  // namespace

bool unpack_snappy(std::string_view packed, std::string& out) {
  out.clear();
  Input in(packed);
  uint64_t length = 0, tag = 0;
  if (!in.varint(length) || length > packed.size() * kMaxGrowth) return false;
  out.reserve(length);
  while (!in.at_end()) {
    const uint64_t most = length - out.size();
    in.number(1, tag);
    if (!((tag & 3) == 0 ? take_literal(in, tag, most, out) : take_copy(in, tag, most, out))) return false;
  }
  return out.size() == length;
}

}  // namespace cortado::data
