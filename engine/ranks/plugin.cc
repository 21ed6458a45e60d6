#include "ranks/plugin.h"

#include <dlfcn.h>

#include "core/error.h"
#include "core/process/program_path.h"

namespace cortado::ranks {

namespace {

/// What an engine wants to be built, and to run.
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
  throw Error(ExitCode::kUsage, "there is no engine '" + engine + "'",
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
                "this build does not speak " + engine + ": " + file_of(engine) + " is not beside the program",
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
