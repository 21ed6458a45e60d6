#include "core/process/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>
#include <vector>

namespace cortado {
namespace {

using Bond = ProcessOptions::Bond;

ProcessOptions shell(const std::string& script, Bond bond = Bond::kPart) {
  return {.words = {"/bin/sh", "-c", script}, .bond = bond};
}

/// The output of a script.
std::string output_of(ProcessOptions options) {
  Pipe out = make_pipe();
  options.out = out.write.fd();
  Process process(options);
  out.write = Descriptor();
  std::string text;
  char piece[256];
  for (ssize_t n; (n = ::read(out.read.fd(), piece, sizeof piece)) > 0;) text.append(piece, size_t(n));
  process.wait();
  return text;
}

TEST(Process, EndsWithCodesAndSignals) {
  const std::optional<ProcessEnd> exit = Process(shell("exit 3")).wait(), crash = Process(shell("kill -9 $$")).wait();
  ASSERT_TRUE(exit && crash);
  EXPECT_EQ(exit->shell_code(), 3);
  EXPECT_EQ(exit->signal, 0);
  EXPECT_EQ(crash->signal, SIGKILL);
  EXPECT_EQ(crash->shell_code(), 128 + SIGKILL);
  EXPECT_EQ(crash->crash(), "Killed");
}

TEST(Process, FailedStartsReportTheReason) {
  try {
    Process process({.words = {"/none/such"}});
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "/none/such cannot be started: No such file or directory");
  }
}

TEST(Process, UsesItsFolderAndStreams) {
  ProcessOptions options = shell("pwd");
  options.folder = "/usr";
  EXPECT_EQ(output_of(options), "/usr\n");
}

TEST(Process, ANewGroupHasNoSignalBlockedOrIgnored) {
  sigset_t term, before;
  ::sigemptyset(&term);
  ::sigaddset(&term, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &term, &before);
  EXPECT_EQ(output_of(shell("kill -TERM $$; echo deaf")), "deaf\n");
  EXPECT_EQ(output_of(shell("kill -TERM $$; echo deaf", Bond::kGroup)), "");
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(Process, ASessionHasThreeDescriptors) {
  const Descriptor open(::dup(STDERR_FILENO));
  EXPECT_NE(output_of(shell("ls /proc/self/fd | wc -l")), "4\n");
  EXPECT_EQ(output_of(shell("ls /proc/self/fd | wc -l", Bond::kSession)), "4\n");  // including the folder that ls reads
}

TEST(Process, IsKilledWithItsGroup) {
  Pipe out = make_pipe();
  {
    ProcessOptions options = shell("sleep 1000 & wait", Bond::kGroup);
    options.out = out.write.fd();
    Process process(options);
    EXPECT_FALSE(process.end_if_any());
  }
  out.write = Descriptor();
  char none;
  EXPECT_EQ(::read(out.read.fd(), &none, 1), 0);  // blocks if the sleeping process still runs
}

/// A killed program runs no destructors.
TEST(Process, ForLifeEndsWithItsStarter) {
  for (const Bond bond : {Bond::kSession, Bond::kLife}) {
    Pipe out = make_pipe();
    Process starter = Process::forked([&] {
      ProcessOptions options = shell("echo $$; exec sleep 40", bond);
      options.out = out.write.fd();
      const Process process(options);
      ::pause();
    });
    out.write = Descriptor();
    char text[16] = "";
    ASSERT_GT(::read(out.read.fd(), text, sizeof text - 1), 1) << "it has started";
    ::kill(starter.id(), SIGKILL);
    starter.wait();
    ::fcntl(out.read.fd(), F_SETFL, O_NONBLOCK);
    pollfd wanted{out.read.fd(), POLLIN, 0};
    const bool has_ended = ::poll(&wanted, 1, bond == Bond::kLife ? 30000 : 200) == 1;
    EXPECT_EQ(has_ended, bond == Bond::kLife);
    if (!has_ended) ::kill(std::stoi(text), SIGKILL);
  }
}

TEST(Process, ForLifeReportsFailedStarts) {
  EXPECT_THROW(Process({.words = {"/none/such"}, .bond = Bond::kLife}), std::runtime_error);
  EXPECT_THROW(Process({.words = {"/bin/sh"}, .bond = Bond::kLife, .folder = "/none/such"}), std::runtime_error);
  EXPECT_EQ(output_of(shell("ls /proc/self/fd | wc -l; kill -TERM $$; echo deaf", Bond::kLife)), "4\n");
}

// Locks that other threads hold while one of them starts a process do not stop its start.
TEST(Process, ThreadsStartThemAtTheSameTime) {
  std::vector<std::thread> threads;
  for (const Bond bond : {Bond::kLife, Bond::kGroup, Bond::kLife, Bond::kGroup})
    threads.emplace_back([bond] {
      for (int i = 0; i < 200; ++i) {
        const std::optional<ProcessEnd> end = Process({.words = {"/bin/true"}, .bond = bond}).wait();
        EXPECT_TRUE(end && end->code == 0 && end->signal == 0);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Process, AForkRunsItsBody) {
  const std::optional<ProcessEnd> end = Process::forked([] { ::_exit(5); }).wait();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 5);
}

}  // namespace
}  // namespace cortado
