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

/// Where a request's time went.
struct Times {
  Clock::duration queue{}, gather{}, compute{}, scatter{};
};

/// What became of a request: its outputs, or why there are none.
struct Outcome {
  std::variant<Arrays, RequestError> result;
  Times times;
};

/// One request for a model: arrays whose first extent counts rows, of which each is computed by itself.
struct Request {
  Arrays inputs;
  std::vector<std::string> outputs;  ///< wanted
  int64_t rows = 1;
  Clock::time_point arrived = Clock::now();
  Clock::time_point deadline = Clock::time_point::max();
  std::shared_ptr<const std::atomic<bool>> client_is_gone;  ///< nobody waits for it any more; may be null
  std::shared_ptr<void> memory;                             ///< its share of the server's, given back with it
  /// Told once, on a thread of the batcher's; it does not throw and returns soon.
  std::function<void(Outcome)> done;

  bool is_abandoned() const { return client_is_gone && client_is_gone->load(std::memory_order_relaxed); }
};

using RequestPtr = std::shared_ptr<Request>;

}  // namespace cortado::server
