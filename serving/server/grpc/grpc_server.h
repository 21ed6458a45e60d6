#pragma once

// The Open Inference Protocol, version 2, over gRPC.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "http/memory_budget.h"
#include "server/models/repository.h"
#include "server/token.h"

namespace cortado::server {

struct GrpcLimits {
  int64_t message_bytes = int64_t(64) << 20;
  int64_t memory_bytes = int64_t(1) << 30;  ///< limit of all messages that are being received
};

/// Paths of PEM files; "": no TLS.
struct GrpcTls {
  std::string certificates, key;
};

class GrpcServer {
 public:
  /// Listens and answers; port 0 chooses a free one. `repository`, `token` and `budget` must outlive the server. Throws
  /// Error if it cannot listen.
  GrpcServer(const std::string& address, uint16_t port, const GrpcTls& tls, const GrpcLimits& limits,
             Repository& repository, const Token& token, http::MemoryBudget& budget);
  ~GrpcServer();

  int port() const;

  /// Refuses new requests; returns when the accepted ones are answered. After `most` they are cancelled.
  void drain(std::chrono::seconds most);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cortado::server
