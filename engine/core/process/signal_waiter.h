#pragma once

#include <pthread.h>
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

/// While it lives the calling thread, and threads that it starts for good, leave to others the signals that users and
/// schedulers send. Faults stay with the thread that causes them: blocked, they would end the process, though a handler
/// mends a lost page (core/files/mapped_file.h).
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t sent;
    ::sigfillset(&sent);
    for (const int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP}) ::sigdelset(&sent, fault);
    ::pthread_sigmask(SIG_SETMASK, &sent, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace cortado
