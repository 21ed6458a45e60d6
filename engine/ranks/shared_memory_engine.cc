#include "ranks/shared_memory_engine.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstring>

#include "core/error.h"
#include "ranks/place.h"
#include "ranks/wired_engine.h"

namespace cortado::ranks {

namespace {

enum State : uint32_t { kNotHere = 0, kHere, kLeft, kFailed };

/// State common to all ranks. Initially zeros.
struct alignas(64) Common {
  std::atomic<uint32_t> first_fault;  ///< the first rank that ended prematurely, plus 1; 0: none
};

/// State of one rank that all can see. Initially zeros.
struct alignas(64) Presence {
  std::atomic<uint32_t> state, pid;
  std::atomic<uint32_t> bell;      ///< changes when one of the rank's windows was written or read
  std::atomic<uint32_t> rests;     ///< grows while the rank waits for others
  std::atomic<uint32_t> sleeping;  ///< whether a change of the bell must wake it
};

/// A window's counters: total bytes written and read. Each has its own cache line, because different ranks update them.
struct Counters {
  alignas(64) std::atomic<uint64_t> written;
  alignas(64) std::atomic<uint64_t> read;
};

constexpr timespec kMaxRestLength{0, 20'000'000};  ///< a rank that dies rings no bell

static_assert(std::atomic<uint32_t>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free);

/// Offsets of the common state, the ranks' states, the windows' counters, and the windows.
struct Layout {
  explicit Layout(int ranks) : ranks(size_t(ranks)) {
    // Two ranks exchange 25 MB in half the time with 2 MiB than with 256 KiB, because they wait for each other less
    // often.
    constexpr size_t kAll = 32 << 20, kSmallest = 16 << 10, kLargest = 2 << 20;
    window = std::bit_floor(std::clamp(kAll / (this->ranks * this->ranks), kSmallest, kLargest));
  }
  size_t counters_at() const { return sizeof(Common) + ranks * sizeof(Presence); }
  size_t windows_at() const { return (counters_at() + ranks * ranks * sizeof(Counters) + 4095) / 4096 * 4096; }
  size_t bytes() const { return windows_at() + ranks * ranks * window; }

  size_t ranks, window;
};

[[noreturn]] void throw_system(const std::string& what) {
  throw Error(ExitCode::kIo, what + ": " + std::strerror(errno));
}

/// A mapped memory with this Layout.
class Shared {
 public:
  Shared(int fd, int ranks) : layout_(ranks) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) throw_system("the ranks' shared memory");
    if (size_t(status.st_size) != layout_.bytes())
      throw Error(ExitCode::kIo, "the ranks' shared memory has another number of ranks or another version");
    memory_ = ::mmap(nullptr, layout_.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory_ == MAP_FAILED) throw_system("mapping the ranks' shared memory");
  }
  ~Shared() { ::munmap(memory_, layout_.bytes()); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  size_t window() const { return layout_.window; }
  Common& common() const { return *static_cast<Common*>(memory_); }
  Presence& presence(size_t rank) const { return reinterpret_cast<Presence*>(bytes() + sizeof(Common))[rank]; }
  Counters& counters(size_t from, size_t to) const {
    return reinterpret_cast<Counters*>(bytes() + layout_.counters_at())[from * layout_.ranks + to];
  }
  std::byte* ring(size_t from, size_t to) const {
    return bytes() + layout_.windows_at() + (from * layout_.ranks + to) * layout_.window;
  }

 private:
  std::byte* bytes() const { return static_cast<std::byte*>(memory_); }

  Layout layout_;
  void* memory_ = nullptr;
};

/// Watches another process for its end.
class Watched {
 public:
  /// Whether it has ended; always false if the system lacks pidfds: then the launcher notices.
  bool ended(uint32_t pid) {
    if (gone_ || pid == 0) return gone_;
    if (!fd_.ok() && !unknown_) {
      fd_ = Descriptor(int(::syscall(SYS_pidfd_open, pid, 0)));
      gone_ = !fd_.ok() && errno == ESRCH;
      unknown_ = !fd_.ok() && !gone_;
    }
    pollfd look{fd_.fd(), POLLIN, 0};
    return gone_ = gone_ || (fd_.ok() && ::poll(&look, 1, 0) == 1);
  }

 private:
  Descriptor fd_;
  bool gone_ = false, unknown_ = false;
};

class SharedMemoryWire final : public Wire {
 public:
  SharedMemoryWire(int fd, int rank, int ranks)
      : shared_(fd, ranks), rank_(size_t(rank)), ranks_(size_t(ranks)), others_(ranks_), sent_(ranks_), got_(ranks_) {
    self().pid = uint32_t(::getpid());
    self().state = kHere;
    ::close(fd);
  }

  std::string name() const override { return "shared memory"; }
  int rank() const override { return int(rank_); }
  int ranks() const override { return int(ranks_); }

  void start(const Exchange& exchange) override {
    exchange_ = &exchange;
    std::ranges::fill(sent_, 0);
    std::ranges::fill(got_, 0);
  }
  bool test() override;
  uint64_t moved() const override { return moved_; }
  std::vector<int> awaited() const override;
  void rest() override;
  std::string fault() override;
  void leave(int exit_code) override;

 private:
  Presence& self() const { return shared_.presence(rank_); }
  size_t to_send(size_t r) const { return exchange_->sends[r].bytes - sent_[r]; }
  size_t to_receive(size_t r) const { return exchange_->receives[r].bytes - got_[r]; }
  size_t push(size_t r);
  size_t pull(size_t r);
  void ring_bell(size_t r) const;
  bool awaits(size_t r) const { return to_send(r) > 0 || to_receive(r) > 0; }
  const char* fault_of(size_t r);
  size_t blame(size_t r);

  Shared shared_;
  size_t rank_, ranks_;
  std::vector<Watched> others_;
  const Exchange* exchange_ = nullptr;
  std::vector<size_t> sent_, got_;  ///< bytes, per rank
  uint64_t moved_ = 0;
  uint32_t heard_ = 0;  ///< the bell before the last test
};

/// Copies between memory and a ring, from byte `at` of all bytes that ever passed it.
template <typename Copy>
void copy_around(size_t window, uint64_t at, size_t bytes, Copy copy) {
  const size_t begin = size_t(at) & (window - 1), first = std::min(bytes, window - begin);
  copy(begin, size_t(0), first);
  if (first < bytes) copy(size_t(0), first, bytes - first);
}

/// Writes at most a quarter of a window at once, so that the reader can start before the writer is done.
size_t SharedMemoryWire::push(size_t r) {
  Counters& counters = shared_.counters(rank_, r);
  const uint64_t at = counters.written.load(std::memory_order_relaxed);
  const size_t window = shared_.window();
  const size_t space = window - size_t(at - counters.read.load(std::memory_order_acquire));
  const size_t bytes = std::min({space, window / 4, to_send(r)});
  if (bytes == 0) return 0;
  const std::byte* from = exchange_->send + exchange_->sends[r].at + sent_[r];
  std::byte* ring = shared_.ring(rank_, r);
  copy_around(window, at, bytes,
              [&](size_t in_ring, size_t in_piece, size_t n) { std::memcpy(ring + in_ring, from + in_piece, n); });
  counters.written.store(at + bytes, std::memory_order_release);
  sent_[r] += bytes;
  return bytes;
}

size_t SharedMemoryWire::pull(size_t r) {
  Counters& counters = shared_.counters(r, rank_);
  const uint64_t at = counters.read.load(std::memory_order_relaxed);
  const size_t window = shared_.window();
  const size_t there = size_t(counters.written.load(std::memory_order_acquire) - at);
  const size_t bytes = std::min({there, window / 4, to_receive(r)});
  if (bytes == 0) return 0;
  std::byte* to = exchange_->receive + exchange_->receives[r].at + got_[r];
  const std::byte* ring = shared_.ring(r, rank_);
  copy_around(window, at, bytes,
              [&](size_t in_ring, size_t in_piece, size_t n) { std::memcpy(to + in_piece, ring + in_ring, n); });
  counters.read.store(at + bytes, std::memory_order_release);
  got_[r] += bytes;
  return bytes;
}

/// Starts with the next rank, so that not all ranks send to the same one first.
bool SharedMemoryWire::test() {
  heard_ = self().bell.load();
  bool done = true;
  for (size_t i = 1; i < ranks_; ++i) {
    const size_t r = (rank_ + i) % ranks_;
    const size_t bytes = push(r) + pull(r);
    if (bytes > 0) ring_bell(r);
    moved_ += bytes;
    done = done && !awaits(r);
  }
  return done;
}

/// Prefers ranks that do not wait themselves: a waiting rank wakes up many times meanwhile.
std::vector<int> SharedMemoryWire::awaited() const {
  std::vector<int> all, still;
  std::vector<uint32_t> rests;
  for (size_t r = 0; r < ranks_; ++r) {
    if (awaits(r)) all.push_back(int(r));
    rests.push_back(shared_.presence(r).rests.load());
  }
  ::usleep(10 * kMaxRestLength.tv_nsec / 1000);
  for (const int r : all)
    if (shared_.presence(size_t(r)).rests.load() == rests[size_t(r)]) still.push_back(r);
  return still.empty() ? all : still;
}

/// No wake-up is lost: either the sleeper sets `sleeping` first and is woken, or the bell changes first, and FUTEX_WAIT
/// sees that.
void SharedMemoryWire::ring_bell(size_t r) const {
  Presence& presence = shared_.presence(r);
  presence.bell.fetch_add(1);
  if (presence.sleeping.load() != 0) ::syscall(SYS_futex, &presence.bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void SharedMemoryWire::rest() {
  self().rests.fetch_add(1);
  self().sleeping.store(1);
  ::syscall(SYS_futex, &self().bell, FUTEX_WAIT, heard_, &kMaxRestLength, nullptr, 0);
  self().sleeping.store(0);
}

/// Why a rank will send nothing more; "": it may. The state is read after the check for its end, so that a rank that
/// left normally does not count as dead.
const char* SharedMemoryWire::fault_of(size_t r) {
  const Presence& presence = shared_.presence(r);
  const bool gone = others_[r].ended(presence.pid.load());
  const uint32_t state = presence.state.load();
  if (state == kFailed) return " has failed";
  if (state == kLeft) return awaits(r) ? " has left" : "";
  return gone ? " has died" : "";
}

/// Names the first rank that failed: later failures follow from it.
std::string SharedMemoryWire::fault() {
  for (size_t r = 0; r < ranks_; ++r) {
    const std::string what = r == rank_ ? "" : fault_of(r);
    if (what.empty()) continue;
    if (shared_.presence(r).state.load() == kLeft) return named({int(r)}) + what;
    const size_t first = blame(r);
    return named({int(first)}) + (first == r ? what : first == rank_ ? " has failed" : fault_of(first));
  }
  return "";
}

/// The rank to blame: `r`, unless another one failed first.
size_t SharedMemoryWire::blame(size_t r) {
  uint32_t first = 0;
  shared_.common().first_fault.compare_exchange_strong(first, uint32_t(r) + 1);
  return first == 0 ? r : first - 1;
}

void SharedMemoryWire::leave(int exit_code) {
  if (exit_code != 0) blame(rank_);
  self().state = exit_code == 0 ? kLeft : kFailed;
  for (size_t r = 0; r < ranks_; ++r) ring_bell(r);
}

}  // namespace

Descriptor make_shared_memory(int ranks) {
  Descriptor memory(::memfd_create("cortado-ranks", MFD_CLOEXEC));
  if (!memory.ok()) throw_system("shared memory for the ranks");
  if (::ftruncate(memory.fd(), off_t(Layout(ranks).bytes())) != 0) throw_system("shared memory for the ranks");
  return memory;
}

std::unique_ptr<Engine> shared_memory_engine(int fd, int rank, int ranks, double stall_seconds) {
  return std::make_unique<WiredEngine>(std::make_unique<SharedMemoryWire>(fd, rank, ranks),
                                       EngineOptions{.stall_seconds = stall_seconds});
}

}  // namespace cortado::ranks
