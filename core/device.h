#pragma once

#include <cstdint>
#include <string>

namespace cortado {

enum class DeviceKind : uint8_t { kCpu, kCuda };

/// Where memory lives and work runs: the CPU, or one CUDA device by its number.
struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;

  bool operator==(const Device&) const = default;
  bool is_cpu() const { return kind == DeviceKind::kCpu; }
  std::string str() const { return is_cpu() ? "cpu" : "cuda:" + std::to_string(index); }
};

}  // namespace cortado
