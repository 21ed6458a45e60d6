#include "ranks/plugin_wire.h"

#include <dlfcn.h>
#include <unistd.h>

#include "core/error.h"
#include "core/program_path.h"
#include "core/signals_blocked.h"
#include "ranks/rank_list.h"

namespace cortado::ranks {

namespace {

/// The packages of Debian that an engine wants: to be built, and to run.
struct Packages {
  const char *engine, *to_build, *to_run;
};

constexpr Packages kPackages[] = {{"openmpi", "libopenmpi-dev", "openmpi-bin"},
                                  {"mpich", "libmpich-dev", "mpich"},
                                  {"gloo", "libgloo-dev", "libgloo0"}};

const Packages& packages_of(const std::string& engine) {
  for (const Packages& packages : kPackages)
    if (engine == packages.engine) return packages;
  throw Error(ExitCode::kUsage, "there is no engine '" + engine + "'",
              did_you_mean(engine, {"openmpi", "mpich", "gloo", "shm"}));
}

/// Its symbols are for itself alone: the two MPIs have the same names, and OpenCV may have brought one along.
decltype(&cortado_engine) load(const std::string& engine) {
  const Packages& packages = packages_of(engine);
  const std::string name = "libcortado_" + engine + ".so", path = library_path(name);
  const std::string install = std::string("apt install ");
  if (path.empty())
    throw Error(ExitCode::kUsage, "this build does not speak " + engine + ": " + name + " is not beside the program",
                install + packages.to_build + ", then build again");
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw Error(ExitCode::kUsage, ::dlerror(), install + packages.to_run);
  const auto start = reinterpret_cast<decltype(&cortado_engine)>(::dlsym(library, "cortado_engine"));
  if (!start) throw Error(ExitCode::kUsage, path + " is of another version", "build again");
  return start;
}

CortadoEngineText into(std::string& text) {
  return {[](void* user, const char* words, size_t size) { static_cast<std::string*>(user)->assign(words, size); },
          &text};
}

}  // namespace

PluginWire::PluginWire(const std::string& engine, const CortadoEngineStart& start) {
  const auto start_engine = load(engine);
  std::string why = "the library does not start";
  {
    const SignalsBlocked blocked;  // for the library's own threads
    engine_ = start_engine(&start, into(why));
  }
  if (!engine_) throw Error(ExitCode::kIo, engine + ": " + why);
  if (engine_->version != kCortadoEngineVersion)
    throw Error(ExitCode::kUsage, "libcortado_" + engine + ".so is of another version", "build again");
  awaited_.resize(size_t(engine_->ranks));
}

void PluginWire::start(const Exchange& exchange) {
  const CortadoExchange plain = {reinterpret_cast<const char*>(exchange.send), exchange.sends.data(),
                                 reinterpret_cast<char*>(exchange.receive), exchange.receives.data()};
  std::string why;
  if (engine_->start(&plain, into(why)) != kCortadoEngineDone) throw Error(ExitCode::kIo, name() + ": " + why);
}

bool PluginWire::test() {
  std::string why;
  const int outcome = engine_->test(awaited_.data(), &moved_, into(why));
  if (outcome == kCortadoEngineFailed)
    throw Error(ExitCode::kIo, name() + ": " + why + "; waited for " + named(awaited()));
  return outcome == kCortadoEngineDone;
}

std::vector<int> PluginWire::awaited() const {
  std::vector<int> ranks;
  for (size_t r = 0; r < awaited_.size(); ++r)
    if (awaited_[r]) ranks.push_back(int(r));
  return ranks;
}

void PluginWire::rest() { ::usleep(200); }

void PluginWire::leave(int exit_code) {
  std::string why;
  if (engine_->leave(exit_code, into(why)) != kCortadoEngineDone) throw Error(ExitCode::kIo, name() + ": " + why);
}

}  // namespace cortado::ranks
