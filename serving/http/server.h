#pragma once

// HTTP/1.1 on one thread: thousands of connections may be open, each with a deadline for what it does now.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "http/memory_budget.h"
#include "http/message.h"

namespace cortado::http {

struct Limits {
  uint64_t body_bytes = uint64_t(64) << 20;
  uint32_t header_bytes = 16 << 10;
  size_t connections = 1024;
  std::chrono::seconds header_time{10}, body_time{60}, idle_time{120}, drain_time{30};
};

struct TlsFiles {
  std::string certificates, key;  ///< paths of PEM files; "": no TLS
};

class Server {
 public:
  /// Listens; 0 as `port` takes a free one. `handler` and `budget` outlive it. Throws Error where it cannot listen, or
  /// the files are not a certificate and its key.
  Server(const std::string& host, uint16_t port, const TlsFiles& tls, const Limits& limits, Handler& handler,
         MemoryBudget& budget);
  ~Server();

  uint16_t port() const;
  size_t connections() const;

  /// Answers requests until drain() was called, here or elsewhere, and the last of them is answered.
  void run();

  /// Accepts no more connections, and closes each behind its next answer. Any thread may call it.
  void drain();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cortado::http
