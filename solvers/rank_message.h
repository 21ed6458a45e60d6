#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/context.h"
#include "core/error.h"
#include "ranks/engine.h"

namespace cortado {

constexpr int kFirstRank = 0;

/// Collective: sends the first rank's protobuf message to all ranks.
template <typename Message>
void broadcast_message(ranks::Engine& engine, Message& message) {
  const auto bytes_of = [](auto* data) { return reinterpret_cast<std::byte*>(data); };
  std::string text;
  if (engine.rank() == kFirstRank) text = message.SerializeAsString();
  uint64_t size = text.size();
  engine.broadcast(bytes_of(&size), sizeof size, kFirstRank);
  text.resize(size);
  engine.broadcast(bytes_of(text.data()), size, kFirstRank);
  if (engine.rank() != kFirstRank && !message.ParseFromString(text))
    throw_internal("a message between ranks is broken");
}

/// Collective: sends the first rank's floats, in the memory of the context's device, to all ranks.
void broadcast_floats(ranks::Engine& engine, Context& context, float* floats, int64_t count);
void broadcast_floats(ranks::Engine& engine, Context& context, std::span<std::byte> memory);

}  // namespace cortado
