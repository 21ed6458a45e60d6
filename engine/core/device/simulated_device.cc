#include "core/device/simulated_device.h"

#include <sys/mman.h>

#include <map>
#include <mutex>
#include <string>

#include "core/error.h"

namespace cortado {

namespace {

struct Blocks {
  std::mutex mutex;
  std::map<std::byte*, size_t> sizes;
  int open = 0;
};

Blocks& blocks() {
  static Blocks all;
  return all;
}

void protect_all(const Blocks& all, int protection) {
  for (const auto& [data, bytes] : all.sizes) ::mprotect(data, bytes, protection);
}

}  // namespace

std::byte* allocate_simulated(size_t bytes) {
  Blocks& all = blocks();
  const std::lock_guard lock(all.mutex);
  void* data =
      ::mmap(nullptr, bytes, all.open ? PROT_READ | PROT_WRITE : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    throw Error(ExitCode::kDevice, "cannot allocate " + std::to_string(bytes) + " bytes on the simulated device");
  all.sizes[static_cast<std::byte*>(data)] = bytes;
  return static_cast<std::byte*>(data);
}

void free_simulated(std::byte* data) {
  Blocks& all = blocks();
  const std::lock_guard lock(all.mutex);
  const auto block = all.sizes.find(data);
  if (block == all.sizes.end()) return;
  ::munmap(data, block->second);
  all.sizes.erase(block);
}

void open_simulated_memory() {
  Blocks& all = blocks();
  const std::lock_guard lock(all.mutex);
  if (all.open++ == 0) protect_all(all, PROT_READ | PROT_WRITE);
}

void close_simulated_memory() {
  Blocks& all = blocks();
  const std::lock_guard lock(all.mutex);
  if (--all.open == 0) protect_all(all, PROT_NONE);
}

}  // namespace cortado
