#pragma once

// The exception of the C++ interface, which is built on the C interface only (cortado.h), so that programs may use
// another compiler than the library.

#include <cortado.h>

#include <stdexcept>

namespace cortado {

/// An error with the program's message.
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
