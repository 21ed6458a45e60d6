#pragma once

#include <cstdint>
#include <string>

namespace cortado {

enum class DeviceKind : uint8_t { kCpu, kCuda, kSimulated };

/// Where memory lives and work runs: the CPU, a CUDA device by index, or the simulated device
/// (core/device/simulated_device.h). That one runs on the CPU, but the host may access its memory only where a real
/// device would compute or copy.
struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;

  bool operator==(const Device&) const = default;
  bool is_cpu() const { return kind == DeviceKind::kCpu; }
  bool is_cuda() const { return kind == DeviceKind::kCuda; }
  bool is_simulated() const { return kind == DeviceKind::kSimulated; }
  std::string str() const { return is_cpu() ? "cpu" : is_simulated() ? "simulated" : "cuda:" + std::to_string(index); }
};

/// The inverse of Device::str(): parses "cpu", "simulated", "cuda:0". Throws Error(kUsage).
Device device_named(const std::string& name);

}  // namespace cortado
