#pragma once

#include <memory>

#include "ranks/engine.h"
#include "ranks/wire.h"

namespace cortado::ranks {

/// An engine on a wire. Pieces go directly from rank to rank, so every rank knows which ranks it waits for. It waits by
/// polling test(), as libraries without a progress thread require, and soon sleeps between tests: there may be more
/// ranks than cores.
class WiredEngine final : public Engine {
 public:
  WiredEngine(std::unique_ptr<Wire> wire, const EngineOptions& options)
      : wire_(std::move(wire)), stall_seconds_(options.stall_seconds), end_process_(options.end_process) {}

  std::string name() const override { return wire_->name(); }
  int rank() const override { return wire_->rank(); }
  int ranks() const override { return wire_->ranks(); }
  double stall_seconds() const override { return stall_seconds_; }

  void all_to_all(const std::byte* send, std::span<const size_t> send_at, std::byte* receive,
                  std::span<const size_t> receive_at) override;
  void all_gather(std::byte* values, std::span<const size_t> at) override;
  void broadcast(std::byte* values, size_t bytes, int root) override;
  /// With 0 it waits for the others. If that throws, call leave() with the exit code of the error.
  void leave(int exit_code) override;

 private:
  void begin(const std::byte* send, std::byte* receive);
  void run();
  void wait();
  void look_around(double idle_seconds);
  void meet();

  std::unique_ptr<Wire> wire_;
  double stall_seconds_;
  void (*end_process_)(int exit_code);
  Exchange exchange_;
  std::vector<size_t> parts_;  ///< boundaries of the parts of a broadcast
};

}  // namespace cortado::ranks
