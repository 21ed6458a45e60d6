// Child processes: their output, their exit codes, and their termination.

#include "studio/child.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "http/request_error.h"

namespace cortado::studio {
namespace {

using http::Refusal;

ChildResult shell(const std::string& script, ChildOptions options = {}) {
  options.folder = "/";
  return run_child({"/bin/sh", "-c", script}, options);
}

Refusal refusal(const std::string& script, const ChildOptions& options) {
  try {
    shell(script, options);
  } catch (const http::RequestError& error) {
    return error.why();
  }
  return Refusal::kInternal;
}

TEST(Child, output_and_exit_code_are_returned) {
  const ChildResult result = shell("pwd; echo error >&2; exit 3");
  EXPECT_EQ(result.out, "/\n");
  EXPECT_EQ(result.err, "error\n");
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(shell("kill -9 $$").code, 128 + SIGKILL);
}

TEST(Child, it_has_three_descriptors_and_all_signals) {
  const int open = ::dup(STDERR_FILENO);
  EXPECT_EQ(shell("ls /proc/self/fd | wc -l").out, "4\n");  // including the one with which ls reads the folder
  ::close(open);
  sigset_t term, before;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, &before);
  EXPECT_EQ(shell("kill -TERM $$; echo deaf").out, "");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(Child, it_is_killed_with_its_children) {
  EXPECT_EQ(refusal("sleep 30 & wait", {.time = std::chrono::seconds(0)}), Refusal::kLate);
  const std::atomic<bool> cancelled = true;
  EXPECT_EQ(refusal("sleep 30", {.cancelled = &cancelled}), Refusal::kCancelled);
  EXPECT_EQ(refusal("yes", {.most_out = 1000}), Refusal::kTooLarge);
}

TEST(Child, a_failed_start_is_an_error) {
  EXPECT_THROW(run_child({"/none/such"}, {.folder = "/"}), http::RequestError);
}

}  // namespace
}  // namespace cortado::studio
