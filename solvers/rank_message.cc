#include "solvers/rank_message.h"

#include "core/device/host_view.h"

namespace cortado {

void broadcast_floats(ranks::Engine& engine, Context& context, float* floats, int64_t count) {
  const auto broadcast = [&](const float* host) {
    engine.broadcast(reinterpret_cast<std::byte*>(const_cast<float*>(host)), size_t(count) * sizeof(float), kFirstRank);
  };
  if (engine.rank() == kFirstRank) return broadcast(HostView(context, floats, count).data());
  HostStage stage;
  broadcast(stage.begin(context, floats, count));
  stage.commit(context);
}

void broadcast_floats(ranks::Engine& engine, Context& context, std::span<std::byte> memory) {
  broadcast_floats(engine, context, reinterpret_cast<float*>(memory.data()), int64_t(memory.size() / sizeof(float)));
}

}  // namespace cortado
