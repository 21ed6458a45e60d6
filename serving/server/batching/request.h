#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "net/predictor.h"
#include "server/server_names.h"

namespace cortado::server {

using Clock = std::chrono::steady_clock;

/// The phases of a request's latency.
struct Times {
  Clock::duration queue{}, gather{}, compute{}, scatter{};
};

/// The result of a request: its outputs, or the error.
struct Outcome {
  std::variant<Arrays, RequestError> result;
  Times times;
};

/// A request for a model. The first extent of its arrays is the number of rows, which are independent.
struct Request {
  Arrays inputs;
  std::vector<std::string> outputs;  ///< requested outputs
  int64_t rows = 1;
  Clock::time_point arrived = Clock::now();
  Clock::time_point deadline = Clock::time_point::max();
  std::shared_ptr<const std::atomic<bool>> client_is_gone;  ///< set when the client disconnects; may be null
  std::shared_ptr<void> memory;                             ///< its share of the memory budget
  /// Called once on a thread of the batcher. It must not throw or block.
  std::function<void(Outcome)> done;

  bool is_abandoned() const { return client_is_gone && client_is_gone->load(std::memory_order_relaxed); }
};

using RequestPtr = std::shared_ptr<Request>;

}  // namespace cortado::server
