#pragma once

// Weights that layers make of a net's weights for their kernels (LayerNeeds::derived), shared by all nets that use one
// memory of weights, on one device: nets of several batch sizes, or one for each thread. They are made when a net runs
// for the first time after the weights were set.

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
  /// What one node asked for.
  struct Entry {
    std::string node;
    std::vector<kernels::WeightFormat> formats;
    DeviceMemory memory;
    std::vector<void*> parts;  ///< one per format
    uint64_t version = 0;      ///< of the weights that it was made of; 0: none yet
  };

  /// Memory for a node where `context` computes: that which another net has for the same node in the same formats, or
  /// new.
  std::shared_ptr<Entry> entry(Context& context, const std::string& node,
                               const std::vector<kernels::WeightFormat>& formats);

  /// To be called after weights were written, while no net that shares them runs.
  void weights_changed() { ++version_; }
  uint64_t version() const { return version_; }

  /// Calls make() if the entry is older than the weights; several threads may ask at once, each with a context of its
  /// own on the one device. What make() enqueues in `context` is done when this returns, for all of them.
  void refresh(Context& context, Entry& entry, const std::function<void()>& make);

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<Entry>> entries_;
  std::atomic<uint64_t> version_ = 1;
};

}  // namespace cortado
