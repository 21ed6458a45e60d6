#pragma once

// Layers that read labels reject values that do not name a class: forward throws on the CPU, and marks its result on
// devices, whose data the host does not see.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {

/// Runs the layer with each of `labels` as element 2 of x[bottom]. `check_device` is called after forward on a device.
inline void expect_rejects_labels(const std::string& layer, Arrays x, size_t bottom, const std::vector<double>& labels,
                                  const std::function<void(LayerRun&)>& check_device) {
  for (const double label : labels) {
    x[bottom][2] = label;
    LayerRun run(layer, x);
    EXPECT_THROW(run.forward(), Error) << label;
    for (const Device& device : tested_devices()) {
      LayerRun there(layer, x, {.device = device});
      there.forward();
      check_device(there);
    }
  }
}

}  // namespace cortado::harness
