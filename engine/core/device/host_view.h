#pragma once

// Memory of a context's device as the host reads and writes it: itself where it is the host's, else a copy.

#include <cstdint>
#include <vector>

#include "core/device/device_memory.h"

namespace cortado {

/// `count` floats for the host to read. The constructor waits for the context's work where it copies.
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

/// Where the host writes floats that belong at `to` on the context's device; they are there after commit().
class HostStage {
 public:
  /// For the next `count` floats; keeps its memory.
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
