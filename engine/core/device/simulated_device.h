#pragma once

// A simulated GPU for machines without one. The CPU computes, but the device's memory is protected: any access raises
// SIGSEGV except within a DeviceAccess, which for_each and similar loops, kernels and copies open. A layer whose host
// code reads its operands would read garbage or crash on a GPU; any test on the simulated device finds it.

#include <cstddef>

#include "core/context.h"

namespace cortado {

/// Allocates `bytes` of protected memory, initially zero; throws Error(kDevice). Free it with free_simulated.
std::byte* allocate_simulated(size_t bytes);
void free_simulated(std::byte* data);

void open_simulated_memory();   ///< reference-counted; the first call opens all blocks
void close_simulated_memory();  ///< the last call closes them

/// During its lifetime this process may access the memory of a simulated `context`. No effect on other devices.
class DeviceAccess {
 public:
  explicit DeviceAccess(const Context& context) : opened_(context.device.is_simulated()) {
    if (opened_) open_simulated_memory();
  }
  ~DeviceAccess() {
    if (opened_) close_simulated_memory();
  }
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;

 private:
  bool opened_;
};

}  // namespace cortado
