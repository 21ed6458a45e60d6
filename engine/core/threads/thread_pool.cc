#include "core/threads/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>

#include "core/error.h"
#include "core/process/signal_waiter.h"

namespace cortado {

namespace {

constexpr uint32_t kOpen = 1u << 31, kJoined = 1u << 15, kActive = 1, kActiveMask = kJoined - 1;
constexpr uint32_t kMaxHelpers = 4096;

/// How long a thread spins before it sleeps, about the time that waking a thread takes.
constexpr std::chrono::microseconds kSpin(50);

thread_local bool inside = false;

void pause() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/// Whether `done()` became true within kSpin.
template <typename Done>
bool spin_until(const Done& done) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

class Inside {
 public:
  Inside() { inside = true; }
  ~Inside() { inside = false; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

}  // namespace

ThreadPool& ThreadPool::shared() {
  static ThreadPool& pool = *new ThreadPool;
  return pool;
}

ThreadPool::ThreadPool() {
  ::pthread_atfork(nullptr, nullptr, [] { shared().forget_helpers(); });
}

/// In a forked child: no helper and no other caller exists here.
void ThreadPool::forget_helpers() {
  helpers_ = 0;
  growing_ = false;
  for (Slot& slot : slots_) {
    slot.state = 0;
    slot.taken = false;
  }
}

bool ThreadPool::is_inside() { return inside; }

void ThreadPool::run(int threads, FunctionRef<void(int)> work) {
  reserve(threads);
  Slot* slot = threads > 1 ? take_slot() : nullptr;
  if (slot) {
    slot->work = &work;
    slot->most = std::min(uint32_t(threads - 1), kMaxHelpers);
    slot->state.store(kOpen, std::memory_order_release);
    news_.fetch_add(1, std::memory_order_seq_cst);
    if (threads > 2)
      news_.notify_all();
    else
      news_.notify_one();
  }
  {
    const Inside now;
    work(0);
  }
  if (slot) close(*slot);
}

ThreadPool::Slot* ThreadPool::take_slot() {
  for (Slot& slot : slots_)
    if (!slot.taken.load(std::memory_order_relaxed) && !slot.taken.exchange(true, std::memory_order_acquire))
      return &slot;
  return nullptr;
}

/// Closes the slot to new helpers and waits for the active ones.
void ThreadPool::close(Slot& slot) {
  const auto left = [&](uint32_t state) { return (state & kActiveMask) == 0; };
  uint32_t state = slot.state.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  if (!left(state) && !spin_until([&] { return left(slot.state.load(std::memory_order_acquire)); }))
    while (!left(state = slot.state.load(std::memory_order_acquire))) slot.state.wait(state, std::memory_order_acquire);
  slot.taken.store(false, std::memory_order_release);
}

/// Helps with the slot's work; returns false if it needs no helper.
bool ThreadPool::join(Slot& slot) {
  const auto joined = [](uint32_t state) { return (state & ~kOpen) / kJoined; };
  uint32_t state = slot.state.load(std::memory_order_acquire);
  do
    if (!(state & kOpen) || joined(state) >= slot.most) return false;
  while (!slot.state.compare_exchange_weak(state, state + kJoined + kActive, std::memory_order_acq_rel));
  const bool wanted = joined(state) < slot.most;  // the slot may have a new caller by now
  if (wanted) (*slot.work)(int(joined(state)) + 1);
  state = slot.state.fetch_sub(kActive, std::memory_order_acq_rel) - kActive;
  if (!(state & (kOpen | kActiveMask))) slot.state.notify_all();
  return wanted;
}

bool ThreadPool::help() {
  bool helped = false;
  for (Slot& slot : slots_) helped |= join(slot);
  return helped;
}

void ThreadPool::wait_for_work(uint32_t seen) {
  if (spin_until([&] { return news_.load(std::memory_order_acquire) != seen; })) return;
  news_.wait(seen, std::memory_order_seq_cst);
}

void ThreadPool::serve() {
  inside = true;
  for (;;) {
    const uint32_t seen = news_.load(std::memory_order_seq_cst);
    if (!help()) wait_for_work(seen);
  }
}

/// Creates as many threads as the system allows. With fewer, callers do more of the work themselves.
void ThreadPool::grow(int helpers) {
  if (growing_.exchange(true, std::memory_order_acquire)) return;
  try {
    const SignalsBlocked blocked;
    for (; helpers_ < helpers; ++helpers_) std::thread([this] { serve(); }).detach();
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  growing_.store(false, std::memory_order_release);
}

std::jthread start_thread(std::function<void()> body) {
  try {
    return std::jthread(std::move(body));
  } catch (const std::system_error& error) {
    throw Error(ExitCode::kDevice, "cannot start a thread: " + error.code().message(),
                "use fewer --threads and --data-threads, or raise `ulimit -u` (threads) and `ulimit -v` (memory)");
  }
}

std::vector<std::jthread> start_threads(int count, const std::function<void()>& body,
                                        const std::function<void()>& end) {
  std::vector<std::jthread> threads;
  threads.reserve(size_t(count));
  try {
    while (int(threads.size()) < count) threads.push_back(start_thread(body));
  } catch (...) {
    end();
    throw;
  }
  return threads;
}

}  // namespace cortado
