#pragma once

#include <cstdint>

namespace cortado {

// For the programs that read what may be damaged by libraries that trust it.

/// Lets this process take so many bytes of address space and no more: memory then ends with std::bad_alloc. Without
/// effect under AddressSanitizer, which takes terabytes of addresses for itself.
void limit_memory(int64_t bytes);

/// Lets this process compute for so many seconds more: then SIGXCPU ends it.
void limit_seconds(int64_t seconds);

/// A crash leaves no core file.
void limit_core_files();

}  // namespace cortado
