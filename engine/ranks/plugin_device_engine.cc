#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "core/device/device_memory.h"
#include "core/error.h"
#include "core/process/signal_waiter.h"
#include "core/text/text.h"
#include "ranks/device_engine.h"
#include "ranks/device_plugin.h"
#include "ranks/open_engine.h"

namespace cortado::ranks {

namespace {

using Clock = std::chrono::steady_clock;

class PluginDeviceEngine final : public DeviceEngine {
 public:
  PluginDeviceEngine(const std::string& name, Engine& engine)
      : rank_(engine.rank()),
        stall_seconds_(engine.stall_seconds()),
        sends_(size_t(engine.ranks())),
        receives_(size_t(engine.ranks())) {
    const SignalsBlocked blocked;  // for the library's own threads
    load(name);
    start(engine);
  }

  std::string name() const override { return engine_->name; }

  void all_to_all(Context& context, const std::byte* send, std::span<const size_t> send_at, std::byte* receive,
                  std::span<const size_t> receive_at) override {
    for (size_t r = 0; r < sends_.size(); ++r) {
      sends_[r] = {send_at[r], send_at[r + 1] - send_at[r]};
      receives_[r] = {receive_at[r], receive_at[r + 1] - receive_at[r]};
    }
    const size_t own = size_t(rank_);
    copy_on_device(context, receive + receive_at[own], send + send_at[own], sends_[own].bytes);
    exchange(context, send, receive);
  }

  void all_gather(Context& context, std::byte* values, std::span<const size_t> at) override {
    const size_t own = size_t(rank_);
    for (size_t r = 0; r < sends_.size(); ++r) {
      sends_[r] = {at[own], at[own + 1] - at[own]};
      receives_[r] = {at[r], at[r + 1] - at[r]};
    }
    exchange(context, values, values);
  }

  void wait(DeviceEvent& event) override {
    for (const auto begin = Clock::now(); !event.is_past(); ::usleep(50)) {
      std::string why;
      if (engine_->look(into(why)) == kCortadoEngineFailed) fail(why);
      if (std::chrono::duration<double>(Clock::now() - begin).count() > stall_seconds_)
        fail("no iteration has completed for " + to_text(float(stall_seconds_)) + " s");
    }
  }

 private:
  void load(const std::string& name) {
    std::string why = "the library failed to start";
    const auto open =
        reinterpret_cast<decltype(&cortado_device_engine)>(plugin_function(name, "cortado_device_engine"));
    engine_ = open(into(why));
    if (!engine_) throw Error(ExitCode::kDevice, name + ": " + why);
    if (engine_->version != kCortadoDeviceEngineVersion)
      throw Error(ExitCode::kUsage, "libcortado_" + name + ".so has another version", "build again");
  }

  void start(Engine& engine) {
    char id[kCortadoDeviceEngineIdBytes] = {};
    std::string why;
    if (rank_ == 0 && engine_->make_id(id, into(why)) != kCortadoEngineDone) fail(why);
    engine.broadcast(reinterpret_cast<std::byte*>(id), sizeof id, 0);
    const CortadoDeviceEngineStart start{rank_, engine.ranks(), id, stall_seconds_};
    if (engine_->start(&start, into(why)) != kCortadoEngineDone) fail(why);
  }

  void exchange(Context& context, const std::byte* send, std::byte* receive) {
    const size_t own = size_t(rank_);
    sends_[own] = receives_[own] = {};
    const CortadoExchange plain = {reinterpret_cast<const char*>(send), sends_.data(), reinterpret_cast<char*>(receive),
                                   receives_.data()};
    std::string why;
    if (engine_->exchange(&plain, context.stream(), into(why)) != kCortadoEngineDone) fail(why);
  }

  /// Aborts pending work first: otherwise the memory that it uses could not be freed.
  [[noreturn]] void fail(const std::string& why) {
    engine_->abandon();
    throw Error(ExitCode::kIo, name() + ": " + why, "see the last lines of the other ranks' logs");
  }

  const CortadoDeviceEngine* engine_ = nullptr;
  int rank_;
  double stall_seconds_;
  std::vector<CortadoPiece> sends_, receives_;
};

}  // namespace

std::unique_ptr<DeviceEngine> plugin_device_engine(const std::string& name, Engine& engine) {
  return std::make_unique<PluginDeviceEngine>(name, engine);
}

}  // namespace cortado::ranks
