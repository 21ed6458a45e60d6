#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/context.h"
#include "graph/graph.h"

namespace cortado::tools {

/// Bytes by purpose. Training includes one history per learned weight, as for momentum. Gradients are among the values,
/// except those that the loss does not reach.
struct NetMemory {
  int64_t values = 0, weights = 0, gradients = 0, history = 0;
  bool known = false;
  int64_t total() const { return values + weights + gradients + history; }
};

/// The memory of the plan that would run; allocates nothing.
NetMemory plan_memory(std::shared_ptr<const NetFile> file, const graph::BuildOptions& options, Context& context);

/// The largest batch, at most `most`, whose memory is within `budget`, and its memory; 0 if one sample needs more.
/// `bytes(batch)` must grow with the batch; it is slow, and called about ten times.
struct FittingBatch {
  int64_t batch = 0, bytes = 0;
};
FittingBatch largest_batch(int64_t budget, int64_t most, const std::function<int64_t(int64_t batch)>& bytes);

/// The bytes of "8GB", "512MiB", "1.5g" or "1000000", with powers of 1024. Throws Error(kUsage) for other text.
int64_t read_bytes(const std::string& text);

}  // namespace cortado::tools
