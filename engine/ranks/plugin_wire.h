#pragma once

#include "ranks/wire.h"

namespace cortado::ranks {

/// A wire that is implemented by a library (ranks/engine_plugin.h). A library is loaded once and never unloaded.
class PluginWire final : public Wire {
 public:
  /// `engine` is "openmpi", "mpich" or "gloo". Throws Error(kUsage) if this build has no such library or the system
  /// lacks what it links, Error(kIo) if it does not find the other ranks.
  PluginWire(const std::string& engine, const CortadoEngineStart& start);

  std::string name() const override { return engine_->name; }
  int rank() const override { return engine_->rank; }
  int ranks() const override { return engine_->ranks; }
  void start(const Exchange& exchange) override;
  bool test() override;
  uint64_t moved() const override { return moved_; }
  std::vector<int> awaited() const override;
  void rest() override;
  void leave(int exit_code) override;

 private:
  const CortadoEngine* engine_;
  std::vector<unsigned char> awaited_;
  size_t moved_ = 0;
};

}  // namespace cortado::ranks
