// Training that is killed again and again, at random moments, many of them inside of a snapshot, and resumed each time,
// ends with the bytes of a run that nobody disturbed. The victim is this program, started anew to run the disabled test
// below.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <random>

#include "tests/solvers/training.h"

namespace cortado {
namespace {

constexpr const char* kPrefixVariable = "CORTADO_TEST_PREFIX";

/// Snapshots go to the default prefix, `prefix`.
SolverFile long_solver(const std::string& prefix) {
  return solver_at(prefix + ".prototxt",
                   "max_iter: 400 snapshot: 1 momentum: 0.9 test_iter: 2 test_interval: 7 average_loss: 5");
}

TEST(Kill, DISABLED_Victim) {
  const char* prefix = std::getenv(kPrefixVariable);
  if (!prefix) GTEST_SKIP() << "started by Kill.LeavesWhatResumesExactly";
  EXPECT_EQ(train(long_solver(prefix), "auto"), Outcome::kFinished);
}

pid_t start_victim(const std::string& prefix) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::setenv(kPrefixVariable, prefix.c_str(), 1);
  const int nowhere = ::open("/dev/null", O_WRONLY);
  ::dup2(nowhere, 1);
  ::dup2(nowhere, 2);
  ::execl("/proc/self/exe", "victim", "--gtest_filter=Kill.DISABLED_Victim", "--gtest_also_run_disabled_tests",
          nullptr);
  ::_exit(127);
}

/// Whether the child ended by itself, well, before it was killed after `milliseconds`.
bool finishes_within(pid_t child, int milliseconds) {
  int status = 0;
  for (int waited = 0; waited < milliseconds; ++waited) {
    if (::waitpid(child, &status, WNOHANG) == child) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the victim failed by itself";
      return true;
    }
    ::usleep(1000);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return false;
}

TEST(Kill, LeavesWhatResumesExactly) {
  Folder folder, whole_folder;
  train(long_solver(whole_folder / "run"));
  std::minstd_rand random(std::random_device{}());
  int kills = 0;
  // The time given grows, so that the run ends however slow the machine is.
  for (int most = 200; !finishes_within(start_victim(folder / "run"), 50 + int(random() % unsigned(most))); most += 20)
    ++kills;
  RecordProperty("kills", kills);
  EXPECT_GT(kills, 0);
  EXPECT_TRUE(read_file(folder / "run_iter_400.caffemodel") == read_file(whole_folder / "run_iter_400.caffemodel"));
  EXPECT_TRUE(bytes_of(read_state(folder / "run_iter_400.solverstate")) ==
              bytes_of(read_state(whole_folder / "run_iter_400.solverstate")));
}

}  // namespace
}  // namespace cortado
