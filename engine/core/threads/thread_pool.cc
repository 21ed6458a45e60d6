#include "core/threads/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/process/signal_waiter.h"

namespace cortado {

namespace {

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
  Inside() : before_(std::exchange(inside, true)) {}
  ~Inside() { inside = before_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  bool before_;
};

}  // namespace

/// The content of a Part.
struct ThreadPool::Left {
  int64_t begin, end;
  int threads;

  Left(int64_t begin, int64_t end, int threads) : begin(begin), end(end), threads(threads) {}
  explicit Left(uint64_t word)
      : begin(int64_t(word & kMaxPieces)),
        end(int64_t(word >> kPieceBits & kMaxPieces)),
        threads(int(word >> 2 * kPieceBits)) {}
  uint64_t packed() const {
    return uint64_t(begin) | uint64_t(end) << kPieceBits | uint64_t(threads) << 2 * kPieceBits;
  }
};

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
    for (Part& part : slot.part) part.left = 0;
    slot.taken = false;
  }
}

bool ThreadPool::is_inside() { return inside; }

void ThreadPool::run(int threads, int64_t pieces, Work work) {
  Slot* slot = nullptr;
  if (threads > 1 && pieces > 1 && pieces < kMaxPieces && !inside) {
    reserve(threads);
    slot = take_slot();
  }
  const Inside now;
  if (!slot) {
    for (int64_t piece = 0; piece < pieces; ++piece) work(piece, 0);
    return;
  }
  offer(*slot, threads, pieces, work);
  help(*slot, 0);
  wait_for_pieces(*slot);
  slot->taken.store(false, std::memory_order_release);
}

ThreadPool::Slot* ThreadPool::take_slot() {
  for (Slot& slot : slots_)
    if (!slot.taken.load(std::memory_order_relaxed) && !slot.taken.exchange(true, std::memory_order_acquire))
      return &slot;
  return nullptr;
}

/// Divides the pieces among the parts and wakes helpers.
void ThreadPool::offer(Slot& slot, int threads, int64_t pieces, const Work& work) {
  const int parts = std::min(threads, kParts);
  slot.work = &work;
  slot.unfinished.store(uint32_t(pieces), std::memory_order_relaxed);
  slot.parts.store(parts, std::memory_order_relaxed);
  for (int i = 0; i < parts; ++i)
    slot.part[i].left.store(Left{pieces * i / parts, pieces * (i + 1) / parts, threads}.packed(),
                            std::memory_order_release);
  news_.fetch_add(1, std::memory_order_seq_cst);
  if (helpers_.load(std::memory_order_relaxed) > 1)
    news_.notify_all();
  else
    news_.notify_one();
}

/// A piece for `worker`; -1 if there is none.
int64_t ThreadPool::take(Slot& slot, int worker) {
  const int parts = slot.parts.load(std::memory_order_relaxed);
  for (int i = 0; i < parts; ++i) {
    std::atomic<uint64_t>& word = slot.part[(worker + i) % parts].left;
    uint64_t before = word.load(std::memory_order_acquire);
    for (;;) {
      Left left(before);
      if (left.begin >= left.end || worker >= left.threads) break;
      const int64_t piece = i == 0 ? left.begin++ : --left.end;
      if (word.compare_exchange_weak(before, left.packed(), std::memory_order_acq_rel)) return piece;
    }
  }
  return -1;
}

/// Runs pieces until none is left; returns whether there was one.
bool ThreadPool::help(Slot& slot, int worker) {
  bool helped = false;
  for (int64_t piece; (piece = take(slot, worker)) >= 0; helped = true) {
    (*slot.work)(piece, worker);
    if (slot.unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1 && worker > 0) slot.unfinished.notify_all();
  }
  return helped;
}

void ThreadPool::wait_for_pieces(Slot& slot) {
  uint32_t left = 0;
  const auto done = [&] { return (left = slot.unfinished.load(std::memory_order_acquire)) == 0; };
  if (!spin_until(done))
    while (!done()) slot.unfinished.wait(left, std::memory_order_acquire);
}

void ThreadPool::wait_for_work(uint32_t seen) {
  if (spin_until([&] { return news_.load(std::memory_order_acquire) != seen; })) return;
  news_.wait(seen, std::memory_order_seq_cst);
}

void ThreadPool::serve(int worker) {
  inside = true;
  for (;;) {
    const uint32_t seen = news_.load(std::memory_order_seq_cst);
    bool helped = false;
    for (Slot& slot : slots_) helped |= help(slot, worker);
    if (!helped) wait_for_work(seen);
  }
}

/// Creates as many threads as the system allows. With fewer, callers do more of the work themselves.
void ThreadPool::grow(int helpers) {
  if (growing_.exchange(true, std::memory_order_acquire)) return;
  try {
    const SignalsBlocked blocked;
    for (; helpers_ < helpers; ++helpers_) std::thread([this, worker = helpers_ + 1] { serve(worker); }).detach();
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
