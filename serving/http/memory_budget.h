#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "http/request_error.h"

namespace cortado::http {

/// Memory that all requests together may take.
class MemoryBudget {
 public:
  explicit MemoryBudget(int64_t bytes) : left_(bytes) {}

  /// A share that is given back with the last copy of the pointer. Throws RequestError(kBusy) where too little is left.
  /// The budget outlives it.
  std::shared_ptr<void> take(int64_t bytes) {
    if (left_.fetch_sub(bytes) < bytes) {
      left_.fetch_add(bytes);
      throw RequestError(Refusal::kBusy, "other requests take the server's memory; try again later");
    }
    return {this, [bytes](void* budget) { static_cast<MemoryBudget*>(budget)->left_.fetch_add(bytes); }};
  }

 private:
  std::atomic<int64_t> left_;
};

}  // namespace cortado::http
