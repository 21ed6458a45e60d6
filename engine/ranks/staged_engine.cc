#include "core/device/device_memory.h"
#include "ranks/device_engine.h"

namespace cortado::ranks {

namespace {

class StagedEngine final : public DeviceEngine {
 public:
  explicit StagedEngine(Engine& engine) : engine_(engine) {}

  std::string name() const override { return engine_.name() + ", through host memory"; }

  void all_to_all(Context& context, const std::byte* send, std::span<const size_t> send_at, std::byte* receive,
                  std::span<const size_t> receive_at) override {
    const std::byte* from = fetch(context, send_, send, send_at.back());
    reserve(context, receive_, receive_at.back());
    engine_.all_to_all(from, send_at, receive_.data(), receive_at);
    copy_to_device(context, receive, receive_.data(), receive_at.back());
  }

  void all_gather(Context& context, std::byte* values, std::span<const size_t> at) override {
    fetch(context, send_, values, at.back());
    engine_.all_gather(send_.data(), at);
    copy_to_device(context, values, send_.data(), at.back());
  }

  /// Nothing to wait for: the calls themselves waited for the other ranks.
  void wait(DeviceEvent& event) override { event.wait(); }

 private:
  static void reserve(Context& context, PinnedMemory& memory, size_t bytes) {
    if (memory.bytes() < bytes) memory = PinnedMemory(context, bytes);
  }

  static const std::byte* fetch(Context& context, PinnedMemory& memory, const std::byte* from, size_t bytes) {
    reserve(context, memory, bytes);
    copy_to_host(context, memory.data(), from, bytes);
    return memory.data();
  }

  Engine& engine_;
  PinnedMemory send_, receive_;
};

}  // namespace

std::unique_ptr<DeviceEngine> staged_engine(Engine& engine) { return std::make_unique<StagedEngine>(engine); }

}  // namespace cortado::ranks
