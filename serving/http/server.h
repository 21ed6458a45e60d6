#pragma once

// An HTTP/1.1 server on one thread. It can hold thousands of connections, each with a deadline for its current
// operation.

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
  /// Listens; port 0 chooses a free one. `handler` and `budget` must outlive the server. Throws Error if it cannot
  /// listen or the files are not a certificate and its key.
  Server(const std::string& host, uint16_t port, const TlsFiles& tls, const Limits& limits, Handler& handler,
         MemoryBudget& budget);
  ~Server();

  uint16_t port() const;
  size_t connections() const;

  /// Answers requests. Returns after drain(), when the last accepted one is answered and no thread uses its Call.
  void run();

  /// Stops accepting connections, and closes each after its next reply. Any thread may call it.
  void drain();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cortado::http
