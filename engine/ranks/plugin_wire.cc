#include "ranks/plugin_wire.h"

#include <unistd.h>

#include "core/error.h"
#include "core/process/signal_waiter.h"
#include "ranks/open_engine.h"
#include "ranks/place.h"

namespace cortado::ranks {

PluginWire::PluginWire(const std::string& engine, const CortadoEngineStart& start) {
  const auto start_engine = reinterpret_cast<decltype(&cortado_engine)>(plugin_function(engine, "cortado_engine"));
  std::string why = "the library failed to start";
  {
    const SignalsBlocked blocked;  // for the library's own threads
    engine_ = start_engine(&start, into(why));
  }
  if (!engine_) throw Error(ExitCode::kIo, engine + ": " + why);
  if (engine_->version != kCortadoEngineVersion)
    throw Error(ExitCode::kUsage, "libcortado_" + engine + ".so has another version", "build again");
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
