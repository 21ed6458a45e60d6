#include "ranks/wired_engine.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>

#include "core/error.h"
#include "core/log.h"
#include "core/process/signal_waiter.h"
#include "core/text/text.h"
#include "core/threads/thread_pool.h"
#include "ranks/place.h"

namespace cortado::ranks {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSpinSeconds = 50e-6;
constexpr double kSecondsToFail = 5;         ///< for a library to notify the others that this rank failed
constexpr size_t kWorthSplitting = 1 << 16;  ///< bytes: a longer broadcast is split over all ranks

double seconds_since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

/// How long nothing has moved. Time during which this process itself was stopped does not count: a whole training may
/// be stopped and continued.
class Idle {
 public:
  void reset() { look_ = Clock::now(), seconds_ = 0; }
  double seconds() {
    seconds_ += std::min(seconds_since(look_), kMaxAtOnce);
    look_ = Clock::now();
    return seconds_;
  }

 private:
  static constexpr double kMaxAtOnce = 1;

  Clock::time_point look_ = Clock::now();
  double seconds_ = 0;
};

/// Calls end_process(exit_code) if it is not destroyed within so many seconds: the libraries may wait forever at their
/// end.
class EndLimit {
 public:
  EndLimit(double seconds, int exit_code, void (*end_process)(int)) {
    const SignalsBlocked blocked;
    thread_ =
        start_thread([=, this] { watch(std::chrono::duration<double>(seconds), [=] { end_process(exit_code); }); });
  }
  ~EndLimit() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_one();
  }
  EndLimit(const EndLimit&) = delete;
  EndLimit& operator=(const EndLimit&) = delete;

 private:
  void watch(std::chrono::duration<double> limit, const std::function<void()>& end) {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, limit, [this] { return ended_; })) return;
    log_error() << "the ranks' engine has not ended for " << limit.count() << " s: this process ends without it";
    end();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::jthread thread_;  ///< uses all of the above
};

}  // namespace

void WiredEngine::begin(const std::byte* send, std::byte* receive) {
  exchange_.send = send;
  exchange_.receive = receive;
  exchange_.sends.assign(size_t(ranks()), {});
  exchange_.receives.assign(size_t(ranks()), {});
}

void WiredEngine::look_around(double idle_seconds) {
  const std::string fault = wire_->fault();
  if (!fault.empty()) throw Error(ExitCode::kIo, fault, "see the last lines of that rank's log");
  if (idle_seconds < stall_seconds_) return;
  throw Error(ExitCode::kIo,
              "nothing has moved for " + to_text(float(stall_seconds_)) + " s: waited for " + named(wire_->awaited()),
              "check for a stopped process or an unreachable machine");
}

void WiredEngine::run() {
  wire_->start(exchange_);
  wait();
}

void WiredEngine::wait() {
  Idle idle;
  bool last_look = false;
  for (uint64_t before = wire_->moved(); !wire_->test();) {
    if (wire_->moved() != before) {
      before = wire_->moved();
      idle.reset();
      last_look = false;
      continue;
    }
    const double seconds = idle.seconds();
    if (seconds < kSpinSeconds) continue;
    // A rank may have sent everything just before it ended: test once more after its end was noticed.
    if (last_look) look_around(seconds);
    last_look = !wire_->fault().empty() || seconds >= stall_seconds_;
    if (!last_look) wire_->rest();
  }
}

void WiredEngine::all_to_all(const std::byte* send, std::span<const size_t> send_at, std::byte* receive,
                             std::span<const size_t> receive_at) {
  begin(send, receive);
  const size_t self = size_t(rank()), own = send_at[self + 1] - send_at[self];
  if (own != receive_at[self + 1] - receive_at[self])
    throw_internal("a rank sends itself another size than it receives");
  for (size_t r = 0; r < size_t(ranks()); ++r) {
    if (r == self) continue;
    exchange_.sends[r] = {send_at[r], send_at[r + 1] - send_at[r]};
    exchange_.receives[r] = {receive_at[r], receive_at[r + 1] - receive_at[r]};
  }
  wire_->start(exchange_);
  if (own > 0) std::memcpy(receive + receive_at[self], send + send_at[self], own);  // while the exchange runs
  wait();
}

void WiredEngine::all_gather(std::byte* values, std::span<const size_t> at) {
  begin(values, values);
  const size_t self = size_t(rank());
  for (size_t r = 0; r < size_t(ranks()); ++r) {
    if (r == self) continue;
    exchange_.sends[r] = {at[self], at[self + 1] - at[self]};
    exchange_.receives[r] = {at[r], at[r + 1] - at[r]};
  }
  run();
}

/// A long broadcast: the root sends each rank a part, and all gather the parts, so that no link carries more than twice
/// the bytes.
void WiredEngine::broadcast(std::byte* values, size_t bytes, int root) {
  const bool splits = bytes > kWorthSplitting && ranks() > 2;
  parts_.assign(1, 0);
  for (int r = 1; r <= ranks(); ++r) parts_.push_back(splits ? bytes / size_t(ranks()) * size_t(r) : 0);
  if (splits) parts_.back() = bytes;
  begin(values, values);
  const auto part = [&](int r) { return splits ? Piece{parts_[r], parts_[r + 1] - parts_[r]} : Piece{0, bytes}; };
  if (rank() != root) exchange_.receives[size_t(root)] = part(rank());
  for (int r = 0; rank() == root && r < ranks(); ++r)
    if (r != root) exchange_.sends[size_t(r)] = part(r);
  run();
  if (splits) all_gather(values, parts_);
}

/// Waits until all ranks have called this.
void WiredEngine::meet() {
  std::vector<std::byte> there{size_t(ranks())};
  std::vector<size_t> at;
  for (size_t r = 0; r <= size_t(ranks()); ++r) at.push_back(r);
  all_gather(there.data(), at);
}

void WiredEngine::leave(int exit_code) {
  if (exit_code == 0) meet();  // its errors name missing ranks
  const bool fails = exit_code != 0;
  std::optional<EndLimit> limit;
  if (end_process_)
    limit.emplace(fails ? kSecondsToFail : std::max(stall_seconds_, kSecondsToFail),
                  fails ? exit_code : int(ExitCode::kIo), end_process_);
  wire_->leave(exit_code);
}

}  // namespace cortado::ranks
