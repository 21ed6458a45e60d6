#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "http/request_error.h"

namespace cortado::http {

/// Limits the memory that all requests use together.
class MemoryBudget {
 public:
  explicit MemoryBudget(int64_t bytes) : left_(bytes) {}

  /// Reserves memory until the last copy of the pointer is destroyed. Throws RequestError(kBusy) if too little is left.
  /// The budget must outlive the pointer.
  std::shared_ptr<void> take(int64_t bytes) {
    if (left_.fetch_sub(bytes) < bytes) {
      left_.fetch_add(bytes);
      throw RequestError(Refusal::kBusy, "the memory for requests is exhausted; try again later");
    }
    return {this, [bytes](void* budget) { static_cast<MemoryBudget*>(budget)->left_.fetch_add(bytes); }};
  }

 private:
  std::atomic<int64_t> left_;
};

}  // namespace cortado::http
