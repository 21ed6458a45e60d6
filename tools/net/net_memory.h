#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/context.h"
#include "graph/graph.h"

namespace cortado::tools {

/// Bytes by purpose; what training needs includes one history per learning weight, as momentum keeps it. Gradients are
/// among the values, apart from those that the loss never reaches.
struct NetMemory {
  int64_t values = 0, weights = 0, gradients = 0, history = 0;
  bool known = false;
  int64_t total() const { return values + weights + gradients + history; }
};

/// Of the plan that would run; nothing of it is allocated.
NetMemory plan_memory(std::shared_ptr<const NetFile> file, const graph::BuildOptions& options, Context& context);

/// The largest batch whose memory stays within `budget`, at most `most`, and what it takes; 0 where one sample is too
/// much. `bytes(batch)` grows with the batch, about in proportion, and takes its time: it is asked some ten times.
struct FittingBatch {
  int64_t batch = 0, bytes = 0;
};
FittingBatch largest_batch(int64_t budget, int64_t most, const std::function<int64_t(int64_t batch)>& bytes);

/// "8GB", "512MiB", "1.5g", "1000000": bytes; powers of 1024, as memory is sold. Throws
/// Error(kUsage) for what is none.
int64_t read_bytes(const std::string& text);

}  // namespace cortado::tools
