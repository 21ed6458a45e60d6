// Training that is killed again and again, at random moments, many of them inside of a snapshot, and resumed each time,
// ends with the bytes of a run that nobody disturbed. The victim is this program, started anew to run the disabled test
// below.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <random>

#include "proto/weights/solver_state_file.h"
#include "tests/harness/hdf5_here.h"
#include "tests/solvers/training.h"

namespace cortado {
namespace {

constexpr const char* kPrefixVariable = "CORTADO_TEST_PREFIX";
constexpr const char* kFormatVariable = "CORTADO_TEST_FORMAT";

/// Snapshots go to the default prefix, `prefix`. HDF5 starts a program for each file, so there are fewer.
SolverFile long_solver(const std::string& prefix, const std::string& format) {
  return solver_at(prefix + ".prototxt",
                   "snapshot: 1 momentum: 0.9 test_iter: 2 test_interval: 7 average_loss: 5 max_iter: " +
                       std::string(format == "HDF5" ? "100" : "400") + " snapshot_format: " + format);
}

TEST(Kill, DISABLED_Victim) {
  const char* prefix = std::getenv(kPrefixVariable);
  if (!prefix) GTEST_SKIP() << "started by Kill.LeavesWhatResumesExactly";
  EXPECT_EQ(train(long_solver(prefix, std::getenv(kFormatVariable)), "auto"), Outcome::kFinished);
}

pid_t start_victim(const std::string& prefix, const std::string& format) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::setenv(kPrefixVariable, prefix.c_str(), 1);
  ::setenv(kFormatVariable, format.c_str(), 1);
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

void expect_exact_resumes(const std::string& format, const std::string& last, const std::string& end) {
  Folder folder, whole_folder;
  train(long_solver(whole_folder / "run", format));
  std::minstd_rand random(std::random_device{}());
  int kills = 0;
  // The time given grows, so that the run ends however slow the machine is.
  for (int most = 200;; most += 20, ++kills)
    if (finishes_within(start_victim(folder / "run", format), 50 + int(random() % unsigned(most)))) break;
  testing::Test::RecordProperty("kills", kills);
  EXPECT_GT(kills, 0);
  const std::string weights = last + ".caffemodel" + end, state = last + ".solverstate" + end;
  EXPECT_TRUE(read_file(folder / weights) == read_file(whole_folder / weights));
  EXPECT_TRUE(bytes_of(read_solver_state(folder / state)) == bytes_of(read_solver_state(whole_folder / state)));
}

TEST(Kill, LeavesWhatResumesExactly) { expect_exact_resumes("BINARYPROTO", "run_iter_400", ""); }

TEST(Kill, LeavesWhatResumesExactlyAsHdf5) {
  SKIP_WITHOUT_HDF5();
  expect_exact_resumes("HDF5", "run_iter_100", ".h5");
}

}  // namespace
}  // namespace cortado
