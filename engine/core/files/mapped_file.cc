// The SIGBUS handler uses only async-signal-safe operations: atomic loads and one system call. It cannot throw, so the
// replacement page reads as zeros, which every parser rejects as damaged even before it checks damaged().
#include "core/files/mapped_file.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "core/error.h"

namespace cortado {

/// A mapping known to the handler. begin is set last and cleared first.
struct MapGuard {
  std::atomic<uintptr_t> begin{0}, end{0};
  std::atomic<bool> used{false}, damaged{false};
};

namespace {

/// A list of guards. Blocks are appended while the handler may iterate, and never removed.
struct GuardBlock {
  std::array<MapGuard, 256> guards;
  std::atomic<GuardBlock*> next{nullptr};

  GuardBlock& next_or_new() {
    if (GuardBlock* there = next.load()) return *there;
    auto made = std::make_unique<GuardBlock>();
    GuardBlock* other = nullptr;
    return next.compare_exchange_strong(other, made.get()) ? *made.release() : *other;
  }
};

GuardBlock first_block;
struct sigaction previous_action;
const auto page_bytes = uintptr_t(::sysconf(_SC_PAGESIZE));

/// The guard of the mapping that contains the address; nullptr if none.
MapGuard* guard_of(uintptr_t address) {
  for (GuardBlock* block = &first_block; block != nullptr; block = block->next.load())
    for (MapGuard& guard : block->guards) {
      const uintptr_t begin = guard.begin.load();
      if (begin != 0 && address >= begin && address < guard.end.load()) return &guard;
    }
  return nullptr;
}

void on_bus_error(int, siginfo_t* info, void*) {
  const int saved_errno = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  if (MapGuard* const guard = guard_of(address)) {
    const uintptr_t page = address & ~(page_bytes - 1);
    const long mapped =
        ::syscall(SYS_mmap, page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (mapped != -1) {
      guard->damaged.store(true);
      errno = saved_errno;
      return;
    }
  }
  ::sigaction(SIGBUS, &previous_action,
              nullptr);  // not a guarded mapping: the access repeats and reaches the previous handler
  errno = saved_errno;
}

MapGuard& guard_map(const uint8_t* data, int64_t size) {
  for (GuardBlock* block = &first_block;; block = &block->next_or_new())
    for (MapGuard& guard : block->guards) {
      bool expected = false;
      if (!guard.used.compare_exchange_strong(expected, true)) continue;
      guard.damaged.store(false);
      guard.end.store(reinterpret_cast<uintptr_t>(data) + uintptr_t(size));
      guard.begin.store(reinterpret_cast<uintptr_t>(data));
      return guard;
    }
}

[[noreturn]] void fail_to_map(const std::string& path, const std::string& why) {
  throw file_error(ExitCode::kIo, path, "cannot read: " + why);
}

[[noreturn]] void fail_to_map(const std::string& path, int error) {
  fail_to_map(path, std::string(std::strerror(error)));
}

}  // namespace

void guard_mapped_files() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &previous_action);
  });
}

MappedFile::MappedFile(const std::string& path) : path_(path) {
  std::string why;
  file_ = open_regular_file(path, why);
  if (!file_.ok()) fail_to_map(path, why);
  map();
}

void MappedFile::map() {
  struct stat info;
  if (::fstat(file_.fd(), &info) != 0) fail_to_map(path_, errno);
  if (info.st_size == 0) return;
  void* data = ::mmap(nullptr, size_t(info.st_size), PROT_READ, MAP_SHARED, file_.fd(), 0);
  if (data == MAP_FAILED) fail_to_map(path_, errno);
  try {
    guard_ = &guard_map(static_cast<const uint8_t*>(data), info.st_size);
  } catch (...) {
    ::munmap(data, size_t(info.st_size));
    throw;
  }
  data_ = static_cast<const uint8_t*>(data);
  size_ = info.st_size;
}

MappedFile::~MappedFile() {
  if (guard_ == nullptr) return;
  guard_->begin.store(0);
  ::munmap(const_cast<uint8_t*>(data_), size_t(size_));
  guard_->used.store(false);
}

bool MappedFile::damaged() const {
  if (guard_ != nullptr && guard_->damaged.load(std::memory_order_relaxed)) return true;
  struct stat info;  // the last page of a truncated file reads as zeros past its end, without a signal
  return ::fstat(file_.fd(), &info) != 0 || info.st_size < size_;
}

void MappedFile::expect_random_reads() const {
  if (data_ != nullptr) ::madvise(const_cast<uint8_t*>(data_), size_t(size_), MADV_RANDOM);
}

void MappedFile::will_need(std::string_view part) const {
  const auto at = reinterpret_cast<uintptr_t>(part.data()), page = at & ~(page_bytes - 1);
  ::madvise(reinterpret_cast<void*>(page), at - page + part.size(), MADV_WILLNEED);
}

}  // namespace cortado
