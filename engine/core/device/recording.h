#pragma once

// What a simulated device makes of a CUDA graph: while a context has a Recording, all that is put into its work is
// kept, not done, and replay() does it. So what would go wrong with a graph goes wrong here: a number that was an
// argument stays what it was, and what the host did meanwhile is not done again. What may not be recorded throws.
//
// So work can be counted without being done: the steps are what a device would be told, one by one, and what they say
// of the bytes that they move (traffic_of() in core/loops/for_each.h) is added up in the context's Account.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/context.h"
#include "core/device/simulated_device.h"

namespace cortado {

/// Bytes that work reads from its device's memory and writes there: what its kernels count of their own passes, as if
/// no cache held anything from one kernel to the next and every cache line were used whole.
struct Traffic {
  int64_t read = 0, written = 0;

  Traffic& operator+=(const Traffic& more) {
    read += more.read, written += more.written;
    return *this;
  }
  bool operator==(const Traffic&) const = default;
};

/// What recorded steps say of themselves; a context's is its handle<Account>().
struct Account {
  int64_t told = 0;      ///< steps that say what they move
  int64_t stated = 0;    ///< launches of state_launches()
  Traffic traffic = {};  ///< of both
};

class Recording {
 public:
  bool empty() const { return steps_.empty(); }
  size_t size() const { return steps_.size(); }  ///< launches of kernels, copies and fills
  void clear() { steps_.clear(); }
  void add(std::function<void()> step) { steps_.push_back(std::move(step)); }
  void replay(const Context& context) const {
    const DeviceAccess access(context);
    for (const auto& step : steps_) step();
  }

 private:
  std::vector<std::function<void()>> steps_;
};

/// For a kernel that runs in a library's place while it is recorded: launches that the library needs besides.
inline void state_launches(Context& context, int64_t launches, const Traffic& traffic) {
  if (!context.recording) return;
  auto& account = context.handle<Account>();
  account.stated += launches;
  account.traffic += traffic;
}

/// Does work() on the context's memory, which is not a CUDA device's, or leaves it to the context's recording.
/// `traffic`: what it moves, where that is known.
template <typename Work>
void do_or_record(Context& context, const Work& work, const std::optional<Traffic>& traffic = {}) {
  if (context.recording) {
    if (traffic) {
      auto& account = context.handle<Account>();
      ++account.told;
      account.traffic += *traffic;
    }
    return context.recording->add(work);
  }
  const DeviceAccess access(context);
  work();
}

}  // namespace cortado
