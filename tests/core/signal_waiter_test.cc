#include "core/process/signal_waiter.h"

#include <gtest/gtest.h>

#include <array>

namespace cortado {
namespace {

constexpr std::array kWaitedFor = {SIGUSR1, SIGUSR2};

TEST(SignalWaiter, ReturnsSignalsInNumericalOrder) {
  const SignalWaiter waiter(kWaitedFor);
  EXPECT_EQ(waiter.next(), 0);
  ::raise(SIGUSR2);
  ::raise(SIGUSR1);
  EXPECT_EQ(waiter.wait(), SIGUSR1);
  EXPECT_EQ(waiter.next(), SIGUSR2);
  EXPECT_EQ(waiter.next(), 0);
}

TEST(SignalWaiter, DiscardsPendingSignalsAndRestoresTheMask) {
  { const SignalWaiter waiter(kWaitedFor), inner(kWaitedFor); }
  {
    const SignalWaiter waiter(kWaitedFor);
    ::raise(SIGUSR1);
  }
  EXPECT_EXIT(::raise(SIGUSR1), testing::KilledBySignal(SIGUSR1), "");
}

}  // namespace
}  // namespace cortado
