#pragma once

// Weights that layers derive from a net's weights for their kernels (LayerNeeds::derived). All nets on one device that
// share weights share these too: nets of several batch sizes, or one per thread. They are computed when a net first
// runs after the weights were set.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/device/device_memory.h"
#include "kernels/weight_format.h"

namespace cortado {

class DerivedWeights {
 public:
  /// The derived weights of one node.
  struct Entry {
    std::string node;
    std::vector<kernels::WeightFormat> formats;
    DeviceMemory memory;
    std::vector<void*> parts;  ///< one per format
    uint64_t version = 0;      ///< of the source weights; 0: not computed yet
  };

  /// Memory on the device of `context` for a node: that of another net for the same node and formats, or new memory.
  std::shared_ptr<Entry> entry(Context& context, const std::string& node,
                               const std::vector<kernels::WeightFormat>& formats);

  /// Call after weights were written, while no net that shares them runs.
  void weights_changed() { ++version_; }
  uint64_t version() const { return version_; }

  /// Calls make() if the entry is older than the weights. Thread-safe: several threads may call it, each with its own
  /// context on the one device. On return, the work that make() enqueued is complete for all of them.
  void refresh(Context& context, Entry& entry, const std::function<void()>& make);

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<Entry>> entries_;
  std::atomic<uint64_t> version_ = 1;
};

}  // namespace cortado
