#pragma once

#include <memory>

#include "ranks/device_engine.h"
#include "ranks/engine.h"
#include "ranks/place.h"

namespace cortado::ranks {

/// This process's end of the engine that the options name, or else the place; once in a process. The libraries' own may
/// start threads, which leave all signals to ours. Throws Error(kUsage) where there is no such engine, its library is
/// missing, or it does not belong to what started the processes, so that they do not find one another; Error(kIo) where
/// they do not for another reason.
std::unique_ptr<Engine> open_engine(const Place& place, const EngineOptions& options);

/// What moves bytes between the devices of ranks whose hosts speak by `engine`, which outlives it: `name`, "nccl" or
/// "host"; "": NCCL between GPUs where this program has it, else by way of the hosts. Collective. Throws as
/// ranks/device_engine.h says, and Error(kUsage) for NCCL without GPUs.
std::unique_ptr<DeviceEngine> open_device_engine(Engine& engine, const Context& context, const std::string& name);

}  // namespace cortado::ranks
