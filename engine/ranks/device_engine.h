#pragma once

// Moves bytes between the device memories of ranks. Like ranks/engine.h it computes nothing. Unlike there, a call
// returns before anything has moved: it enqueues work in a context.

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/context.h"
#include "core/device/device_event.h"
#include "ranks/engine.h"

namespace cortado::ranks {

/// Every function but wait() is collective, as those of Engine, and throws the same errors.
class DeviceEngine {
 public:
  virtual ~DeviceEngine() = default;
  virtual std::string name() const = 0;  ///< with its version

  /// As Engine's. All pointers are to memory of the context's device.
  virtual void all_to_all(Context& context, const std::byte* send, std::span<const size_t> send_at, std::byte* receive,
                          std::span<const size_t> receive_at) = 0;
  virtual void all_gather(Context& context, std::byte* values, std::span<const size_t> at) = 0;

  /// Waits for an event in a context's work. Throws Error(kIo) if another rank died, or if nothing has moved for
  /// stall_seconds.
  virtual void wait(DeviceEvent& event) = 0;
};

/// An engine for any device that copies to the host, exchanges by `engine`, and copies back. Calls wait. `engine` must
/// outlive it.
std::unique_ptr<DeviceEngine> staged_engine(Engine& engine);

/// An engine in a library of this project: "nccl", only between GPUs. Collective, through `engine`. Throws
/// Error(kUsage) if it cannot be loaded, Error(kDevice) if it does not work here, Error(kIo) if another rank is
/// missing.
std::unique_ptr<DeviceEngine> plugin_device_engine(const std::string& name, Engine& engine);

}  // namespace cortado::ranks
