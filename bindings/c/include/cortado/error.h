#pragma once

// What Cortado's C++ face throws. It is made of the C interface alone (cortado.h), so that programs need not be built
// by the compiler that built the library.

#include <cortado.h>

#include <stdexcept>

namespace cortado {

/// What was wrong, as the program would show it.
class Error : public std::runtime_error {
 public:
  explicit Error(cortado_status status) : std::runtime_error(cortado_last_error()), status_(status) {}
  cortado_status status() const { return status_; }

 private:
  cortado_status status_;
};

inline void check(cortado_status status) {
  if (status != CORTADO_OK) throw Error(status);
}

}  // namespace cortado
