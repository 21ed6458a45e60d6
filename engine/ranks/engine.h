#pragma once

// The processes of one training ("ranks"), as an engine that moves bytes between them. Engines never compute. Cortado
// itself sums, in a fixed order, so that sums do not depend on the number of ranks.

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace cortado::ranks {

/// One process's endpoint. Every function is collective: all ranks call the same ones in the same order, from one
/// thread at a time, and each call returns when this rank's part is done. All throw Error(kIo) if a rank died, and if
/// nothing moved for EngineOptions::stall_seconds. The message names the ranks that were waited for, if the engine
/// knows them.
class Engine {
 public:
  virtual ~Engine() = default;

  virtual std::string name() const = 0;  ///< with its version: "Open MPI 4.1.4"
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  virtual double stall_seconds() const = 0;  ///< how long nothing may move

  /// Bytes [send_at[r], send_at[r + 1]) of `send` go to rank r; those from rank r arrive in
  /// [receive_at[r], receive_at[r + 1]) of `receive`. Both lists have ranks() + 1 elements.
  virtual void all_to_all(const std::byte* send, std::span<const size_t> send_at, std::byte* receive,
                          std::span<const size_t> receive_at) = 0;
  /// Before, rank r has bytes [at[r], at[r + 1]) of `values`; after, every rank has all of them.
  virtual void all_gather(std::byte* values, std::span<const size_t> at) = 0;
  /// After, all ranks have the bytes of `root`.
  virtual void broadcast(std::byte* values, size_t bytes, int root) = 0;

  /// Ends this rank's part; no function may be called afterwards. `exit_code` other than 0: this rank failed, and the
  /// others must end too. Does not return if it calls EngineOptions::end_process.
  virtual void leave(int exit_code) = 0;
};

struct EngineOptions {
  std::string name = {};       ///< "openmpi", "mpich", "gloo" or "shm"; "": the one that started this process
  double stall_seconds = 300;  ///< --stall-limit
  /// Ends this process at once (_exit) with an exit code. leave() calls it where the engine's library does not end by
  /// itself, or cannot notify other ranks of a failure otherwise. For programs. If null, leave() waits for the library,
  /// and MPI does not notify the others.
  void (*end_process)(int exit_code) = nullptr;
};

}  // namespace cortado::ranks
