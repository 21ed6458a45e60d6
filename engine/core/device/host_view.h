#pragma once

// Host access to device memory: direct if it is host memory, else through a copy.

#include <cstdint>
#include <vector>

#include "core/device/device_memory.h"

namespace cortado {

/// `count` floats for the host to read. If it copies, the constructor waits for the context's work.
class HostView {
 public:
  HostView(Context& context, const float* values, int64_t count) : values_(values) {
    if (context.shares_host_memory()) return;
    copy_.resize(size_t(count));
    copy_to_host(context, copy_.data(), values, copy_.size() * sizeof(float));
    values_ = copy_.data();
  }
  HostView(HostView&&) = default;
  const float* data() const { return values_; }

 private:
  const float* values_;
  std::vector<float> copy_;
};

/// A buffer for floats that the host writes; commit() copies them to device memory.
class HostStage {
 public:
  /// Starts a new write of `count` floats to `to`. The buffer is reused.
  float* begin(Context& context, float* to, int64_t count) {
    to_ = to;
    staged_.resize(context.shares_host_memory() ? 0 : size_t(count));
    return staged_.empty() ? to : staged_.data();
  }
  void commit(Context& context) {
    if (!staged_.empty()) copy_to_device(context, to_, staged_.data(), staged_.size() * sizeof(float));
  }

 private:
  float* to_ = nullptr;
  std::vector<float> staged_;
};

}  // namespace cortado
