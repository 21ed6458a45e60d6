#pragma once

// Work that is the same every time, so that a CUDA device can be told all of it at once: the first runs are ordinary (libraries
// load what they need), the next is recorded as a CUDA graph, and from then on the graph is launched. What changes
// from run to run must lie in device memory, and nothing in it may wait or allocate. Elsewhere every run is an ordinary one.

#include <functional>

#include "core/context.h"

namespace cortado {

class CapturedWork {
 public:
  CapturedWork() = default;
  ~CapturedWork();
  CapturedWork(const CapturedWork&) = delete;
  CapturedWork& operator=(const CapturedWork&) = delete;

  /// Does what `work` does, in order with the context's other work. `work` enqueues the same every time.
  void run(Context& context, const std::function<void()>& work);

 private:
  int ordinary_runs_ = 0;
  void* graph_ = nullptr;
};

}  // namespace cortado
