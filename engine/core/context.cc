#include "core/context.h"

#include "core/device/cuda_runtime.h"

namespace cortado {

Context::Context(const ContextOptions& options)
    : device(options.device),
      precision(options.precision),
      captures(options.captures),
      loops(options.loops),
      threads(options.threads),
      seed(options.seed),
      stream_(options.runs && device.is_cuda() ? cuda::make_stream(device.index) : nullptr) {}

}  // namespace cortado
