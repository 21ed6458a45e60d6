#pragma once

// Times candidates of a convolution on memory of the real sizes, on the context's device.

#include "core/device/device_memory.h"
#include "kernels/conv.h"

namespace cortado::kernels {

class ConvBenchmark {
 public:
  ConvBenchmark(const ConvRequest& request, ConvDirection direction, Context& context);

  /// One run, to its end. Throws Error(kDevice) where a device's library fails.
  void run(ConvKernel& kernel, Context& context) const;

  /// Seconds of a run: the best of as many as fit into `most`, at least one after one that does not count, which is the
  /// only one of a kernel that takes more than kHopeless times `rival` for it. Throws as run().
  double time(ConvKernel& kernel, Context& context, double most, double rival = INFINITY) const;

 private:
  static constexpr double kHopeless = 2;
  struct Memory;

  ConvOperands operands(const Memory& memory) const;

  const ConvRequest& request_;
  ConvDirection direction_;
  DeviceMemory x_, y_;
};

}  // namespace cortado::kernels
