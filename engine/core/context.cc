#include "core/context.h"

#include <algorithm>

#include "core/device/cuda_runtime.h"

namespace cortado {

int default_pieces(int threads) { return std::max(8, 2 * threads); }

Context::Context(const ContextOptions& options)
    : device(options.device),
      precision(options.precision),
      captures(options.captures),
      threads(options.threads),
      pieces(default_pieces(options.threads)),
      seed(options.seed),
      stream_(options.runs && device.is_cuda() ? cuda::make_stream(device.index) : nullptr) {}

}  // namespace cortado
