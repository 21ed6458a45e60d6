#pragma once

// The simulated device's counterpart of a CUDA graph. While a context has a Recording, its work is stored and not
// executed; replay() executes it. Errors in the use of graphs therefore show here: arguments keep their recorded
// values, and host code between the steps does not run again. Work that must not be recorded throws.
//
// A Recording also counts work without executing it. The steps correspond to a device's launches, and the bytes that
// they report (traffic_of() in core/loops/for_each.h) are summed in the context's Account.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/context.h"
#include "core/device/simulated_device.h"

namespace cortado {

/// Bytes of device memory that work reads and writes. Kernels count one pass over each operand, as if no cache kept
/// data between kernels and every cache line were fully used.
struct Traffic {
  int64_t read = 0, written = 0;

  Traffic& operator+=(const Traffic& more) {
    read += more.read, written += more.written;
    return *this;
  }
  bool operator==(const Traffic&) const = default;
};

/// The totals of recorded steps; stored as the context's handle<Account>().
struct Account {
  int64_t told = 0;      ///< steps that report their traffic
  int64_t stated = 0;    ///< launches added by state_launches()
  Traffic traffic = {};  ///< of both
};

class Recording {
 public:
  bool empty() const { return steps_.empty(); }
  size_t size() const { return steps_.size(); }  ///< number of kernel launches, copies and fills
  void clear() { steps_.clear(); }
  void add(std::function<void()> step) { steps_.push_back(std::move(step)); }
  void replay(const Context& context) const {
    const DeviceAccess access(context);
    for (const auto& step : steps_) step();
  }

 private:
  std::vector<std::function<void()>> steps_;
};

/// Adds the launches of a library whose work another kernel simulates in the recording.
inline void state_launches(Context& context, int64_t launches, const Traffic& traffic) {
  if (!context.recording) return;
  auto& account = context.handle<Account>();
  account.stated += launches;
  account.traffic += traffic;
}

/// Runs work() on the context's memory, or adds it to the context's recording. Not for CUDA devices. `traffic`: bytes
/// moved, if known.
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
