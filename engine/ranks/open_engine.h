#pragma once

#include <memory>
#include <string>

#include "ranks/device_engine.h"
#include "ranks/engine.h"
#include "ranks/engine_plugin.h"
#include "ranks/place.h"

namespace cortado::ranks {

/// Opens this process's endpoint of the engine that the options name, or else the place; once per process. Libraries
/// may start threads, in which all signals are blocked. Throws Error(kUsage) if the engine is unknown, its library is
/// missing, or it does not match the launcher, so that the processes do not find each other; Error(kIo) if they do not
/// for another reason.
std::unique_ptr<Engine> open_engine(const Place& place, const EngineOptions& options);

/// Moves bytes between the devices of ranks whose hosts use `engine`, which must outlive it. `name`: "nccl" or "host";
/// "": NCCL between GPUs if this program has it, else through host memory. Collective. Throws as in
/// ranks/device_engine.h, and Error(kUsage) for NCCL without GPUs.
std::unique_ptr<DeviceEngine> open_device_engine(Engine& engine, const Context& context, const std::string& name);

// Libraries of this project, loaded on demand; each is linked to one communication library.

/// Whether libcortado_ENGINE.so is next to the program. The library that it links may still be missing.
bool has_plugin(const std::string& engine);

/// `function` of libcortado_ENGINE.so. It is loaded with RTLD_LOCAL: the two MPIs have the same symbols, and OpenCV may
/// have loaded one. Throws Error(kUsage) with the packages to install if it cannot be loaded.
void* plugin_function(const std::string& engine, const char* function);

/// Writes the message of a call to `text`, which must outlive it.
CortadoEngineText into(std::string& text);

}  // namespace cortado::ranks
