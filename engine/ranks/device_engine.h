#pragma once

// What moves bytes between the memories of ranks' devices. As ranks/engine.h, it computes nothing; unlike there a call
// returns before anything has moved: it is a piece of a context's work.

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/context.h"
#include "core/device/device_event.h"
#include "ranks/engine.h"

namespace cortado::ranks {

/// Every function but wait() is collective, as Engine's are, and throws as they do.
class DeviceEngine {
 public:
  virtual ~DeviceEngine() = default;
  virtual std::string name() const = 0;  ///< with the version

  /// As Engine's. All pointers are to memory of the context's device.
  virtual void all_to_all(Context& context, const std::byte* send, std::span<const size_t> send_at, std::byte* receive,
                          std::span<const size_t> receive_at) = 0;
  virtual void all_gather(Context& context, std::byte* values, std::span<const size_t> at) = 0;

  /// The caller waits for a moment in the work of a context. Throws Error(kIo) where it does not come for want of
  /// another rank: one that has died, or for which nothing has moved for as long as a rank may take.
  virtual void wait(DeviceEvent& event) = 0;
};

/// What `engine`, which outlives it, carries from host to host: bytes are copied there and back, and calls wait. It
/// does for any device.
std::unique_ptr<DeviceEngine> staged_engine(Engine& engine);

/// By a library of this project's own, "nccl": between GPUs alone. Collective, by way of `engine`. Throws Error(kUsage)
/// where it cannot be loaded, Error(kDevice) where it does not work here, Error(kIo) for want of another rank.
std::unique_ptr<DeviceEngine> plugin_device_engine(const std::string& name, Engine& engine);

}  // namespace cortado::ranks
