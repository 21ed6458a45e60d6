#pragma once

#include <cstdint>

namespace cortado {

// Resource limits and usage of this process. The limits are for programs that parse untrusted files with third-party
// libraries.

/// Limits the address space; allocations beyond it throw std::bad_alloc. No effect under AddressSanitizer, which
/// reserves terabytes of addresses.
void limit_memory(int64_t bytes);

/// Limits CPU time to `seconds` more, after which SIGXCPU ends the process.
void limit_seconds(int64_t seconds);

/// Raises the limit of open files to 65536 if permitted; shells usually set 1024. For programs only: in a library the
/// host program owns the limits.
void allow_many_files();

/// The resident set size in bytes; 0 if unknown.
int64_t resident_bytes();

/// Disables core files.
void limit_core_files();

}  // namespace cortado
