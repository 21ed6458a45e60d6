#pragma once

// Times candidates of a convolution on memory of the real sizes, on the context's device.

#include "core/device_memory.h"
#include "kernels/conv.h"

namespace cortado::kernels {

class ConvBenchmark {
 public:
  ConvBenchmark(const ConvRequest& request, ConvDirection direction, Context& context);

  /// Seconds of a run: the best of as many as fit into `most`, at least one after one that does not count, which is the
  /// only one of a kernel that takes more than kHopeless times `rival` for it. Infinity where a CUDA device's library
  /// fails.
  double time(ConvKernel& kernel, Context& context, double most, double rival = INFINITY);

 private:
  static constexpr double kHopeless = 2;

  double measured(ConvKernel& kernel, Context& context, double most, double rival) const;
  ConvOperands operands(void* w, void* bias, const void* z) const;

  const ConvRequest& request_;
  ConvDirection direction_;
  DeviceMemory x_, y_;
};

}  // namespace cortado::kernels
