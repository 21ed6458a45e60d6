#pragma once

// What an engine must implement: each rank sends each other one some bytes, at once. ranks/wired_engine.h builds all
// functions of Engine on it, and the waiting.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ranks/engine_plugin.h"

namespace cortado::ranks {

using Piece = CortadoPiece;

/// What this rank sends and receives: a piece per rank, its own empty.
struct Exchange {
  const std::byte* send = nullptr;
  std::byte* receive = nullptr;
  std::vector<Piece> sends, receives;
};

/// The connection to the other ranks. Functions that fail throw Error(kIo).
class Wire {
 public:
  virtual ~Wire() = default;

  virtual std::string name() const = 0;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  /// Starts an exchange, whose memory must stay valid until test() returns true.
  virtual void start(const Exchange& exchange) = 0;
  /// Moves what it can without waiting; returns whether the exchange is complete.
  virtual bool test() = 0;
  virtual uint64_t moved() const = 0;  ///< grows whenever something was sent or received
  /// The ranks that something still has to come from or go to; only the stalled ones of these, if known. May be slow.
  virtual std::vector<int> awaited() const = 0;
  /// Sleeps until something may have moved since the last test(), at most some milliseconds.
  virtual void rest() = 0;
  virtual std::string fault() { return ""; }  ///< failure of another rank that will never send again
  virtual void leave(int exit_code) = 0;
};

}  // namespace cortado::ranks
