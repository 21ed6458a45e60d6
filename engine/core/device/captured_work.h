#pragma once

// Repeated work that is recorded once as a CUDA graph. The first runs execute normally (libraries load what they need),
// the next one is recorded, and later ones launch the graph. Values that change from run to run must be in device
// memory, and the work must neither wait nor allocate. The simulated device records, too, so that tests find errors.
// The CPU always executes normally, and so does CUDA, with a warning, if the recording fails.

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

  /// Runs `work` in order with the context's other work. `work` must enqueue the same operations every time.
  void run(Context& context, const std::function<void()>& work);

 private:
  bool record(Context& context, const std::function<void()>& work);
  bool record_graph(Context& context, const std::function<void()>& work);

  int ordinary_runs_ = 0;
  bool refused_ = false;  ///< whether CUDA failed to record the work
  void* graph_ = nullptr;
  Recording recording_;  ///< used by the simulated device instead of a graph
};

}  // namespace cortado
