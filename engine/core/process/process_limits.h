#pragma once

#include <cstdint>

namespace cortado {

// What a process takes of the machine. The limits are for programs that read what may be damaged by libraries that
// trust it.

/// Lets this process take so many bytes of address space and no more: memory then ends with std::bad_alloc. Without
/// effect under AddressSanitizer, which takes terabytes of addresses for itself.
void limit_memory(int64_t bytes);

/// Lets this process compute for so many seconds more: then SIGXCPU ends it.
void limit_seconds(int64_t seconds);

/// Lets this process open 65536 files where the system permits that, not the 1024 that shells usually do. For programs
/// alone: in a library the limits are the host's.
void allow_many_files();

/// The memory that this process has in RAM now; 0 where the system does not tell.
int64_t resident_bytes();

/// A crash leaves no core file.
void limit_core_files();

}  // namespace cortado
