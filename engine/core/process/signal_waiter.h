#pragma once

#include <signal.h>

#include <span>

#include "core/files/descriptor.h"

namespace cortado {

/// Signals that are waited for instead of acting, while it lives, in this thread and in those that it starts. What came
/// and was not taken is dropped with it.
class SignalWaiter {
 public:
  /// Throws Error(kDevice) where no descriptors are left.
  explicit SignalWaiter(std::span<const int> signals);
  ~SignalWaiter();
  SignalWaiter(const SignalWaiter&) = delete;
  SignalWaiter& operator=(const SignalWaiter&) = delete;

  int fd() const { return fd_.fd(); }  ///< can be read when one has come
  int next() const;                    ///< that has come; 0: none
  int wait() const;

 private:
  sigset_t before_;
  Descriptor fd_;
};

}  // namespace cortado
