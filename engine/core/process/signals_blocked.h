#pragma once

#include <pthread.h>
#include <signal.h>

namespace cortado {

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
