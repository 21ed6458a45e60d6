#pragma once

// The processes of one training ("ranks"), as whatever moves bytes between them shows them. An engine moves and never
// computes: what is added up is added by us, in an order of ours, so that sums do not depend on how many ranks there
// are.

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace cortado::ranks {

/// One process's end of it. Every function is collective: each rank calls the same ones in the same order, from one
/// thread at a time, and returns when its own part is done. All throw Error(kIo) when a rank has died, and when nothing
/// has moved for as long as a rank may take (EngineOptions::stall_seconds); the message names the ranks that were
/// waited for where the engine knows them.
class Engine {
 public:
  virtual ~Engine() = default;

  virtual std::string name() const = 0;  ///< with the version: "Open MPI 4.1.4"
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  virtual double stall_seconds() const = 0;  ///< how long a rank may take

  /// Bytes [send_at[r], send_at[r + 1]) of `send` go to rank r; those from rank r come to
  /// [receive_at[r], receive_at[r + 1]) of `receive`. Both lists have ranks() + 1 places.
  virtual void all_to_all(const std::byte* send, std::span<const size_t> send_at, std::byte* receive,
                          std::span<const size_t> receive_at) = 0;
  /// Rank r has bytes [at[r], at[r + 1]) of `values`; afterwards every rank has all of them.
  virtual void all_gather(std::byte* values, std::span<const size_t> at) = 0;
  /// Afterwards all ranks have what `root` has in these bytes.
  virtual void broadcast(std::byte* values, size_t bytes, int root) = 0;

  /// The end of this rank's part, once; nothing may be called afterwards. `exit_code` other than 0: this rank has
  /// failed, and the others are to end, too. Does not return where EngineOptions::end_process is called.
  virtual void leave(int exit_code) = 0;
};

struct EngineOptions {
  std::string name = {};       ///< "openmpi", "mpich", "gloo" or "shm"; "": the one that started this process
  double stall_seconds = 300;  ///< --stall-limit
  /// Ends this process with an exit code, at once (_exit), where leave() cannot do without: the library under the
  /// engine does not come to an end by itself, or tells the other ranks of a failure by nothing else. For programs;
  /// unless given, leave() waits for the library, and MPI does not tell the others.
  void (*end_process)(int exit_code) = nullptr;
};

}  // namespace cortado::ranks
