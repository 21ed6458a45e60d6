#pragma once

#include <cstdint>
#include <string_view>

namespace cortado::data {

/// A byte, and a big-endian number of two bytes; 0 beyond the end.
inline int byte_at(std::string_view bytes, size_t at) { return at < bytes.size() ? uint8_t(bytes[at]) : 0; }
inline int word_at(std::string_view bytes, size_t at) { return byte_at(bytes, at) << 8 | byte_at(bytes, at + 1); }

/// Iterates over the segments of a JPEG up to the header of its first scan (ITU-T T.81, annex B): 0xFF, a code, and two
/// bytes of length, which include themselves. Accepts arbitrary bytes.
class JpegSegments {
 public:
  static constexpr int kStartOfImage = 0xD8, kEndOfImage = 0xD9, kStartOfScan = 0xDA;  ///< marker codes

  explicit JpegSegments(std::string_view file) : file_(file) {}

  /// The next segment; returns false after a scan's header, and if the file is damaged.
  bool next();
  int code() const { return code_; }
  std::string_view content() const { return content_; }

 private:
  std::string_view file_, content_;
  size_t at_ = 0;
  int code_ = 0;
};

}  // namespace cortado::data
