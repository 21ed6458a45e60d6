#include "ranks/open_engine.h"

#include <dlfcn.h>

#include <cstdlib>

#include "core/error.h"
#include "core/process/program_path.h"
#include "ranks/place.h"
#include "ranks/plugin_wire.h"
#include "ranks/shared_memory_engine.h"
#include "ranks/wired_engine.h"

namespace cortado::ranks {

namespace {

std::unique_ptr<Engine> open_shared_memory(const Place& place, double stall_seconds) {
  const char* fd = std::getenv(kSharedMemoryVariable);
  if (!fd || place.launcher != "cortado")
    throw Error(ExitCode::kUsage, "the engine shm is only for ranks that cortado itself starts on one machine",
                "choose another engine for ranks started by " + (place.launcher.empty() ? "hand" : place.launcher));
  return shared_memory_engine(std::atoi(fd), place.rank, place.ranks, stall_seconds);
}

void check_rendezvous() {
  const char* folder = std::getenv(kRendezvousVariable);
  if (folder && *folder) return;
  throw Error(ExitCode::kUsage,
              std::string("gloo needs a rendezvous folder, and this variable is not set: ") + kRendezvousVariable,
              std::string("export ") + kRendezvousVariable + "=FOLDER, an empty folder that all ranks can access");
}

void check_place(const Engine& engine, const Place& place) {
  if (engine.rank() == place.rank && engine.ranks() == place.ranks) return;
  throw Error(ExitCode::kUsage,
              engine.name() + " assigns this process rank " + std::to_string(engine.rank()) + " of " +
                  std::to_string(engine.ranks()) + ", but its launcher assigned rank " + std::to_string(place.rank) +
                  " of " + std::to_string(place.ranks) + " (" + place.launcher + ")",
              "use the engine's own launcher: mpirun.openmpi for openmpi, mpirun.mpich for mpich");
}

}  // namespace

std::unique_ptr<Engine> open_engine(const Place& place, const EngineOptions& options) {
  const std::string name = options.name.empty() ? place.engine : options.name;
  if (name == "shm") return open_shared_memory(place, options.stall_seconds);
  if (name == "gloo") check_rendezvous();
  auto wire = std::make_unique<PluginWire>(
      name, CortadoEngineStart{place.rank, place.ranks, options.stall_seconds, options.end_process});
  auto engine = std::make_unique<WiredEngine>(std::move(wire), options);
  check_place(*engine, place);
  return engine;
}

std::unique_ptr<DeviceEngine> open_device_engine(Engine& engine, const Context& context, const std::string& name) {
  const bool nccl = name.empty() ? context.device.is_cuda() && has_plugin("nccl") : name == "nccl";
  if (!nccl) return staged_engine(engine);
  if (!context.device.is_cuda())
    throw Error(ExitCode::kUsage, "the engine nccl works only between GPUs", "remove --gpu-engine");
  return plugin_device_engine("nccl", engine);
}

namespace {

/// Packages to build and to run an engine.
struct Packages {
  const char *engine, *to_build, *to_run;
};

constexpr Packages kPackages[] = {
    {"openmpi", "apt install libopenmpi-dev", "apt install openmpi-bin"},
    {"mpich", "apt install libmpich-dev", "apt install mpich"},
    {"gloo", "apt install libgloo-dev", "apt install libgloo0"},
    {"nccl", "install CUDA and NCCL's header", "install NCCL (libnccl.so.2), with its folder in LD_LIBRARY_PATH"}};

const Packages& packages_of(const std::string& engine) {
  for (const Packages& packages : kPackages)
    if (engine == packages.engine) return packages;
  throw Error(ExitCode::kUsage, "unknown engine '" + engine + "'",
              did_you_mean(engine, {"openmpi", "mpich", "gloo", "shm"}));
}

std::string file_of(const std::string& engine) { return "libcortado_" + engine + ".so"; }

}  // namespace

bool has_plugin(const std::string& engine) { return !companion_path(file_of(engine)).empty(); }

void* plugin_function(const std::string& engine, const char* function) {
  const Packages& packages = packages_of(engine);
  const std::string path = companion_path(file_of(engine));
  if (path.empty())
    throw Error(ExitCode::kUsage,
                "this build does not support " + engine + ": " + file_of(engine) + " is not next to the program",
                std::string(packages.to_build) + ", then build again");
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw Error(ExitCode::kUsage, ::dlerror(), packages.to_run);
  void* const found = ::dlsym(library, function);
  if (!found) throw Error(ExitCode::kUsage, path + " is of another version", "build again");
  return found;
}

CortadoEngineText into(std::string& text) {
  return {[](void* user, const char* words, size_t size) { static_cast<std::string*>(user)->assign(words, size); },
          &text};
}

}  // namespace cortado::ranks
