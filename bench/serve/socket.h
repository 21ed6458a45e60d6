#pragma once

#include <cstdint>
#include <string>

#include "core/files/descriptor.h"

namespace cortado::bench {

/// A non-blocking connection to a local port. Throws std::runtime_error.
Descriptor connect_here(uint16_t port);

/// An HTTP request with this body; `headers` are complete lines.
std::string http_request(const std::string& path, const std::string& headers, const std::string& body);

/// An inference request with one binary input after the JSON, which requests binary outputs.
std::string infer_request(const std::string& model, const std::string& input, const std::string& dims,
                          const std::string& values);

/// Parses one answer incrementally.
class AnswerReader {
 public:
  /// Reads available bytes. False if the connection was closed or failed.
  bool read(int fd);
  bool is_complete() const { return head_ != std::string::npos && bytes_.size() >= head_ + length_; }
  int status() const;
  /// The body without its JSON.
  std::string values() const;
  void clear();

 private:
  void find_head();
  size_t number_behind(const char* field) const;

  std::string bytes_;
  size_t head_ = std::string::npos, length_ = 0;
};

}  // namespace cortado::bench
