#pragma once

#include <cstdint>
#include <string>

#include "core/files/descriptor.h"

namespace cortado::bench {

/// A connection to a port of this machine's that never waits. Throws std::runtime_error.
Descriptor connect_here(uint16_t port);

/// An HTTP request with this body; `headers` are whole lines.
std::string http_request(const std::string& path, const std::string& headers, const std::string& body);

/// An inference request with one input of floats behind the JSON, which asks for binary outputs.
std::string infer_request(const std::string& model, const std::string& input, const std::string& dims,
                          const std::string& values);

/// One answer, as its bytes come in.
class AnswerReader {
 public:
  /// Takes what the socket has. False where the peer has closed it or it failed.
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
