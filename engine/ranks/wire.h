#pragma once

// What an engine has to be able to do: each rank gives each other one some bytes, at once. All that Engine offers is
// made of that in ranks/wired_engine.h, and so is the waiting.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ranks/engine_plugin.h"

namespace cortado::ranks {

using Piece = CortadoPiece;

/// What this rank sends and receives: a piece for each rank, its own empty.
struct Exchange {
  const std::byte* send = nullptr;
  std::byte* receive = nullptr;
  std::vector<Piece> sends, receives;
};

/// The way to the other ranks. Functions that fail throw Error(kIo).
class Wire {
 public:
  virtual ~Wire() = default;

  virtual std::string name() const = 0;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  /// Begins an exchange, which stays as it is until test() is true.
  virtual void start(const Exchange& exchange) = 0;
  /// Moves what can be moved without waiting; whether all has come and gone.
  virtual bool test() = 0;
  virtual uint64_t moved() const = 0;  ///< grows whenever something has come or gone
  /// The ranks that something is still to come from or to go to; of these those that stand still, where that is known.
  /// May take its time.
  virtual std::vector<int> awaited() const = 0;
  /// Sleeps until something may have moved since the last test(), for some milliseconds at most.
  virtual void rest() = 0;
  virtual std::string fault() { return ""; }  ///< what has happened to another rank that will never move again
  virtual void leave(int exit_code) = 0;
};

}  // namespace cortado::ranks
