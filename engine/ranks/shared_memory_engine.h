#pragma once

// Ranks of one machine that write into a memory of all of them: a training on two sockets, and tests. Each rank has a
// window for each other one, a ring of bytes that one writes and one reads, so pieces may be of any size. Who has
// nothing to do sleeps on a word of its own (futex), which whoever writes or reads its windows changes.

#include <memory>

#include "core/files/descriptor.h"
#include "ranks/engine.h"

namespace cortado::ranks {

/// The memory for so many ranks. It has no name, and goes with the last process that has it. Closed on exec: a launcher
/// opens it for its children. Throws Error(kIo).
Descriptor make_shared_memory(int ranks);

/// Over such a memory, which `fd` holds open (and is closed). Throws Error(kIo).
std::unique_ptr<Engine> shared_memory_engine(int fd, int rank, int ranks, double stall_seconds);

}  // namespace cortado::ranks
