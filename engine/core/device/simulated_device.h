#pragma once

// A device for machines without one: the CPU computes, but the device's memory is closed to the process (any touch is a
// SIGSEGV) except inside a DeviceAccess, which for_each and its kin, kernels and copies open. So a layer that looks at
// its operands from the host, which would read rubbish or crash on a GPU, is found by any test that runs it here.

#include <cstddef>

#include "core/context.h"

namespace cortado {

/// `bytes` of closed memory, zero at first; throws Error(kDevice). free_simulated takes what allocate_simulated gave.
std::byte* allocate_simulated(size_t bytes);
void free_simulated(std::byte* data);

void open_simulated_memory();   ///< counts; the first opens all blocks
void close_simulated_memory();  ///< the last closes them

/// While it lives, this process may touch the device memory of a simulated `context`. Does nothing elsewhere.
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
