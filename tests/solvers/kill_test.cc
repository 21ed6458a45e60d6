// Training that is killed again and again, at random moments, many of them inside of a snapshot, and resumed each time,
// ends with the bytes of a run that nobody disturbed. The victim is this program, started anew to run the disabled test
// below.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <set>

#include "proto/weights/solver_state_file.h"
#include "tests/harness/hdf5_here.h"
#include "tests/solvers/training.h"

namespace cortado {
namespace {

constexpr const char* kPrefixVariable = "CORTADO_TEST_PREFIX";
constexpr const char* kFormatVariable = "CORTADO_TEST_FORMAT";

/// Snapshots go to the default prefix, `prefix`. HDF5 starts a program for each file, so there are fewer; a resume
/// reads all states.
SolverFile long_solver(const std::string& prefix, const std::string& format) {
  return solver_at(prefix + ".prototxt",
                   "snapshot: 1 momentum: 0.9 test_iter: 2 test_interval: 7 average_loss: 5 max_iter: " +
                       std::string(format == "HDF5" ? "60" : "400") + " snapshot_format: " + format);
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

using Clock = std::chrono::steady_clock;

std::set<std::string> files_in(const std::string& folder) {
  std::set<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(folder)) files.insert(file.path().filename());
  return files;
}

/// Kills the child `delay` after `begins` is true, which is called again and again. Returns whether the child ended by
/// itself before, and well.
bool finishes_before(pid_t child, const std::function<bool()>& begins, std::chrono::microseconds delay) {
  Clock::time_point end = Clock::time_point::max();
  for (int status = 0; Clock::now() < end; ::usleep(200)) {
    if (::waitpid(child, &status, WNOHANG) == child) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the victim failed by itself";
      return true;
    }
    if (end == Clock::time_point::max() && begins()) end = Clock::now() + delay;
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return false;
}

/// Three of four kills come soon after the victim has written a file, so that it gets on however slow the machine is;
/// the others while it starts and reads its last snapshot.
void expect_exact_resumes(const std::string& format, const std::string& last, const std::string& end) {
  Folder folder, whole_folder;
  const Clock::time_point started = Clock::now();
  train(long_solver(whole_folder / "run", format));
  const int64_t whole = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - started).count();
  std::minstd_rand random(std::random_device{}());
  const auto draw = [&](int64_t most) { return std::chrono::microseconds(int64_t(random()) % most); };
  int kills = 0;
  for (;; ++kills) {
    const std::set<std::string> files = files_in(folder / "");
    const bool early = random() % 4 == 0;
    if (finishes_before(
            start_victim(folder / "run", format), [&] { return early || files_in(folder / "") != files; },
            draw(early ? 50000 : whole / 10)))
      break;
  }
  testing::Test::RecordProperty("kills", kills);
  EXPECT_GT(kills, 0);
  const std::string weights = last + ".caffemodel" + end, state = last + ".solverstate" + end;
  EXPECT_TRUE(read_file(folder / weights) == read_file(whole_folder / weights));
  EXPECT_TRUE(bytes_of(read_solver_state(folder / state)) == bytes_of(read_solver_state(whole_folder / state)));
}

TEST(Kill, LeavesWhatResumesExactly) { expect_exact_resumes("BINARYPROTO", "run_iter_400", ""); }

TEST(Kill, LeavesWhatResumesExactlyAsHdf5) {
  SKIP_WITHOUT_HDF5();
  expect_exact_resumes("HDF5", "run_iter_60", ".h5");
}

}  // namespace
}  // namespace cortado
