#include "tools/program/signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace cortado::tools {
namespace {

/// Without a reader of standard error, the handler's message cannot be written.
[[noreturn]] void receive_without_a_reader(int signal) {
  ::close(STDERR_FILENO);
  const Requests& requests = catch_signals(SignalEffect::kStop, SignalEffect::kSnapshot);
  stop_with_snapshot();
  errno = ENOTBLK;
  ::raise(signal);
  const bool is_requested = requests.load() == (signal == SIGHUP ? kRequestSnapshot : kRequestStop);
  ::_exit(errno == ENOTBLK && is_requested ? 0 : 1);
}

TEST(Signals, HandlersKeepErrno) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1})
    EXPECT_EXIT(receive_without_a_reader(signal), ::testing::ExitedWithCode(0), "") << signal;
}

}  // namespace
}  // namespace cortado::tools
