// Host memory from mmap: zeroed at no cost, and in huge pages, which reduces TLB misses for large tensors. Linux
// overcommits memory and kills the process when pages are touched. Large requests are therefore checked against the
// available memory first, so that a net that is too large fails with an error.
#include "core/arena.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/round_up.h"
#include "core/text/text.h"

namespace cortado {

namespace {

constexpr size_t kPage = 4096, kHugePage = size_t(2) << 20;
constexpr size_t kWorthAsking = size_t(64) << 20;
constexpr size_t kArenaAll = std::numeric_limits<size_t>::max();

size_t mapped_bytes(size_t bytes) {
  const size_t unit = bytes >= kHugePage ? kHugePage : kPage;
  return round_up(bytes, unit);
}

std::atomic<uint64_t> taken{0};

/// Reads a file with one number; returns `otherwise` if it has none ("max").
size_t number_in(const char* path, size_t otherwise) {
  std::ifstream file(path);
  size_t value = 0;
  return file >> value ? value : otherwise;
}

/// Reads the number after `name` in a file of lines "name number ..."; returns `otherwise` if it is missing.
size_t entry_of(const char* path, const std::string& name, size_t otherwise) {
  std::ifstream file(path);
  std::string word, rest;
  size_t value = 0;
  while (file >> word >> value && std::getline(file, rest))
    if (word == name) return value;
  return otherwise;
}

/// Bytes left under the control group's limit. Cached files count as used, but the kernel can reclaim them.
size_t left_in_group() {
  const size_t limit = number_in("/sys/fs/cgroup/memory.max", kArenaAll);
  if (limit == kArenaAll) return kArenaAll;
  const size_t used = number_in("/sys/fs/cgroup/memory.current", 0);
  const size_t cached = entry_of("/sys/fs/cgroup/memory.stat", "file", 0);
  return limit - std::min(limit, used - std::min(used, cached));
}

/// Bytes left under a limit of the address space (ulimit -v, ulimit -d), of which this process uses `used` pages.
size_t left_in_limit(int resource, size_t used) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kArenaAll;
  return limit.rlim_cur - std::min<size_t>(limit.rlim_cur, used * kPage);
}

/// Both limits count mapped pages, touched or not.
size_t left_in_limits() {
  std::ifstream file("/proc/self/statm");
  size_t size = 0, resident, shared, text, lib, data = 0;
  file >> size >> resident >> shared >> text >> lib >> data;
  return std::min(left_in_limit(RLIMIT_AS, size), left_in_limit(RLIMIT_DATA, data));
}

/// Bytes that this process can still allocate: the system's memory and swap, or less under limits of the process or its
/// control group.
size_t available_memory() {
  const size_t memory = entry_of("/proc/meminfo", "MemAvailable:", kArenaAll / 2048);
  const size_t swap = entry_of("/proc/meminfo", "SwapFree:", 0);
  return std::min({(memory + swap) * 1024, left_in_group(), left_in_limits()});
}

[[noreturn]] void throw_not_enough(size_t bytes, size_t available) {
  throw Error(ExitCode::kDevice,
              "not enough memory: " + mebibytes(bytes) + " are needed, " + mebibytes(available) + " are available",
              "use a smaller batch_size");
}

/// Maps one extra huge page and unmaps the ends, so that the block starts on a huge page.
std::byte* map_aligned(size_t bytes) {
  const size_t size = mapped_bytes(bytes), spare = bytes >= kHugePage ? kHugePage : 0;
  void* start = ::mmap(nullptr, size + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) throw_not_enough(bytes, available_memory());
  auto* first = static_cast<std::byte*>(start);
  if (spare == 0) return first;
  const size_t head = (kHugePage - reinterpret_cast<uintptr_t>(start) % kHugePage) % kHugePage;
  if (head > 0) ::munmap(first, head);
  if (spare > head) ::munmap(first + head + size, spare - head);
  ::madvise(first + head, size, MADV_HUGEPAGE);  // advisory: works without huge pages, too
  return first + head;
}

}  // namespace

Arena::Arena(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  if (bytes > std::numeric_limits<size_t>::max() / 4) throw_not_enough(bytes, available_memory());
  if (bytes >= kWorthAsking) {
    const size_t available = available_memory();
    if (bytes > available) throw_not_enough(bytes, available);
  }
  data_ = map_aligned(bytes);
  taken += bytes;
}

uint64_t Arena::taken_bytes() { return taken; }

Arena::~Arena() {
  if (data_ != nullptr) ::munmap(data_, mapped_bytes(bytes_));
}

Arena::Arena(Arena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace cortado
