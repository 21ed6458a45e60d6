#pragma once

#include <memory>
#include <string>

#include "ranks/device_engine.h"
#include "ranks/engine.h"
#include "ranks/engine_plugin.h"
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

// Libraries of this project's own that are loaded when they are wanted: each is linked to one that moves bytes.

/// Whether libcortado_ENGINE.so is beside the program; the library that it wants may be missing all the same.
bool has_plugin(const std::string& engine);

/// `function` of libcortado_ENGINE.so. Its other symbols are for itself alone: the two MPIs have the same names, and
/// OpenCV may have brought one along. Throws Error(kUsage) with the packages to install where it cannot be loaded.
void* plugin_function(const std::string& engine, const char* function);

/// Writes what a call tells to `text`, which outlives it.
CortadoEngineText into(std::string& text);

}  // namespace cortado::ranks
