#pragma once

#include <vector>

#include "core/device/device_memory.h"
#include "net/net.h"

namespace cortado {

/// While it lives a pass may be run for its loss alone: at its end what layers keep by themselves, as BatchNorm its
/// statistics, is what it was.
class KeptAside {
 public:
  explicit KeptAside(Net& net) : net_(net) {
    for (const KeptWeight& kept : net.kept_weights()) {
      DeviceMemory& copy = copies_.emplace_back(net.context(), size_t(kept.count) * sizeof(float));
      copy_on_device(net.context(), copy.data(), kept.values, copy.bytes());
    }
  }
  ~KeptAside() {
    size_t i = 0;
    for (const KeptWeight& kept : net_.kept_weights()) {
      copy_on_device(net_.context(), kept.values, copies_[i].data(), copies_[i].bytes());
      ++i;
    }
    synchronize(net_.context());  // the copies' memory goes
  }
  KeptAside(const KeptAside&) = delete;
  KeptAside& operator=(const KeptAside&) = delete;

 private:
  Net& net_;
  std::vector<DeviceMemory> copies_;
};

}  // namespace cortado
