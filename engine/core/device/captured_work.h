#pragma once

// Work that is the same every time, so that a device can be told all of it at once: the first runs are ordinary
// (libraries load what they need), the next is recorded as a CUDA graph, and from then on the graph is launched. What
// changes from run to run must lie in device memory, and nothing in it may wait or allocate. The simulated device
// records, too, so that a test finds what would not come out right. On the CPU every run is an ordinary one, and so
// they stay, with a warning, where CUDA will not record the work.

#include <functional>

#include "core/context.h"
#include "core/device/recording.h"

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
  bool record(Context& context, const std::function<void()>& work);
  bool record_graph(Context& context, const std::function<void()>& work);

  int ordinary_runs_ = 0;
  bool refused_ = false;  ///< by CUDA
  void* graph_ = nullptr;
  Recording recording_;  ///< of the simulated device, instead of a graph
};

}  // namespace cortado
