#pragma once

// Times candidates of a convolution on operands of the real size, on the context's device.

#include "core/device/device_memory.h"
#include "kernels/conv.h"

namespace cortado::kernels {

class ConvBenchmark {
 public:
  ConvBenchmark(const ConvRequest& request, ConvDirection direction, Context& context);

  /// Runs the kernel once and waits for its end. Throws Error(kDevice) if a device library fails.
  void run(ConvKernel& kernel, Context& context) const;

  /// Seconds per run: the minimum of as many runs as fit into `most` seconds, at least one, after a warm-up. If the
  /// warm-up takes more than kHopeless times `rival`, it is the only run. Throws like run().
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
