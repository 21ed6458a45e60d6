#pragma once

#include <pthread.h>
#include <signal.h>

#include <span>

#include "core/files/descriptor.h"

namespace cortado {

/// During its lifetime the signals are blocked in this thread, and in threads that it starts, and can be read here
/// instead. Pending signals are discarded at the end.
class SignalWaiter {
 public:
  /// Throws Error(kDevice) if no descriptors are left.
  explicit SignalWaiter(std::span<const int> signals);
  ~SignalWaiter();
  SignalWaiter(const SignalWaiter&) = delete;
  SignalWaiter& operator=(const SignalWaiter&) = delete;

  int fd() const { return fd_.fd(); }  ///< readable when a signal is pending
  int next() const;                    ///< the next pending signal; 0 if none
  int wait() const;

 private:
  sigset_t before_;
  Descriptor fd_;
};

/// During its lifetime the calling thread, and threads that it starts, leave signals of users and schedulers to other
/// threads. Faults are not blocked: a blocked fault ends the process, although a handler may resolve it
/// (core/files/mapped_file.h).
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
