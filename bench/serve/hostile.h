#pragma once

// Hostile and broken clients, each with its own connection.

#include <deque>
#include <string>

#include "bench/serve/socket.h"

namespace cortado::bench {

class Hostile {
 public:
  Hostile(uint16_t port, std::string model, std::string input, std::string good_request)
      : port_(port), model_(std::move(model)), input_(std::move(input)), good_request_(std::move(good_request)) {}

  /// Runs the next attack in turn: wrong and huge shapes, truncated JSON, deep JSON, a body that is never sent, slow
  /// heads, disconnects before the answer, random bytes.
  void attack();
  size_t attacks() const { return attacks_; }

 private:
  std::string infer(const std::string& json) const;

  uint16_t port_;
  std::string model_, input_, good_request_;
  size_t attacks_ = 0;
  std::deque<Descriptor> held_;  ///< connections that wait for the server's timeout
};

}  // namespace cortado::bench
