#pragma once

// Ranks of one machine that exchange data through shared memory: for trainings on two sockets, and tests. Each rank has
// a window per other rank: a ring buffer with one writer and one reader, so pieces may have any size. An idle rank
// sleeps on a futex of its own, which other ranks change when they write or read its windows.

#include <memory>

#include "core/files/descriptor.h"
#include "ranks/engine.h"

namespace cortado::ranks {

/// The memory for so many ranks. It has no name and is freed with the last process that maps it. It is closed on exec:
/// a launcher keeps it open for its children. Throws Error(kIo).
Descriptor make_shared_memory(int ranks);

/// The engine on such a memory, given as descriptor `fd`, which it closes. Throws Error(kIo).
std::unique_ptr<Engine> shared_memory_engine(int fd, int rank, int ranks, double stall_seconds);

}  // namespace cortado::ranks
