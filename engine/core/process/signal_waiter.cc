#include "core/process/signal_waiter.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace cortado {

SignalWaiter::SignalWaiter(std::span<const int> signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : signals) ::sigaddset(&set, signal);
  fd_ = Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_.ok()) throw Error(ExitCode::kDevice, std::string("cannot wait for signals: ") + std::strerror(errno));
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
}

SignalWaiter::~SignalWaiter() {
  while (next() != 0) continue;
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int SignalWaiter::next() const {
  signalfd_siginfo info{};
  return ::read(fd_.fd(), &info, sizeof info) == sizeof info ? int(info.ssi_signo) : 0;
}

int SignalWaiter::wait() const {
  for (;;) {
    if (const int signal = next()) return signal;
    pollfd look{fd_.fd(), POLLIN, 0};
    ::poll(&look, 1, -1);
  }
}

}  // namespace cortado
