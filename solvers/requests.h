#pragma once

#include <atomic>

namespace cortado {

/// Requests from outside to a run: bits, set by fetch_or, also in a signal handler. The run reads and clears them after
/// each iteration and before each batch of a test.
enum Request : int { kRequestNothing = 0, kRequestStop = 1, kRequestSnapshot = 2 };
using Requests = std::atomic<int>;
static_assert(Requests::is_always_lock_free);

}  // namespace cortado
