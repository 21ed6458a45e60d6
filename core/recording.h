#pragma once

// What a simulated device makes of a CUDA graph: while a context has a Recording, all that is put into its work is
// kept, not done, and replay() does it. So what would go wrong with a graph goes wrong here: a number that was an
// argument stays what it was, and what the host did meanwhile is not done again. What may not be recorded throws.

#include <functional>
#include <vector>

#include "core/context.h"
#include "core/simulated_device.h"

namespace cortado {

class Recording {
 public:
  bool empty() const { return steps_.empty(); }
  void clear() { steps_.clear(); }
  void add(std::function<void()> step) { steps_.push_back(std::move(step)); }
  void replay(const Context& context) const {
    const DeviceAccess access(context);
    for (const auto& step : steps_) step();
  }

 private:
  std::vector<std::function<void()>> steps_;
};

/// Does work() on the context's memory, which is not a CUDA device's, or leaves it to the context's recording.
template <typename Work>
void do_or_record(Context& context, const Work& work) {
  if (context.recording) return context.recording->add(work);
  const DeviceAccess access(context);
  work();
}

}  // namespace cortado
