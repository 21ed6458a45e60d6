#pragma once

#include <cstdint>

namespace cortado {

/// Bytes that work reads from its device's memory and writes there: what its kernels count of their own passes, as if
/// no cache held anything from one kernel to the next and every cache line were used whole.
struct Traffic {
  int64_t read = 0, written = 0;

  Traffic& operator+=(const Traffic& more) {
    read += more.read, written += more.written;
    return *this;
  }
  bool operator==(const Traffic&) const = default;
};

}  // namespace cortado
