// The built-in launcher and its processes.

#include "ranks/launch.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>

#include "core/error.h"
#include "core/files/descriptor.h"
#include "core/files/file.h"
#include "tests/ranks/probes.h"

namespace cortado::ranks {
namespace {

constexpr int kLongest = 120;  ///< seconds; a longer run counts as a hang

bool comes_true(const std::function<bool()>& what) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(kLongest);
  while (std::chrono::steady_clock::now() < until) {
    if (what()) return true;
    ::usleep(5000);
  }
  return false;
}

/// Three ranks that record their signals in files named by their ranks.
class Noting {
 public:
  Noting() : probes_(probe_command("shm", 3, "signals"), {"PROBE_FOLDER=" + folder_.path()}) {
    EXPECT_TRUE(all_have("ready\n")) << probes_.output();
  }

  Probes& probes() { return probes_; }
  void signal(int number) const { ::kill(probes_.pid(), number); }
  bool all_have(const std::string& text) const {
    return comes_true([&] {
      for (const std::string& file : files())
        if (!file_exists(file) || read_file(file) != text) return false;
      return true;
    });
  }
  /// Process IDs of the launcher and its ranks.
  std::vector<pid_t> pids() const {
    const std::string pid = std::to_string(probes_.pid());
    std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
    std::vector<pid_t> all{probes_.pid()};
    for (pid_t child; children >> child;) all.push_back(child);
    return all;
  }
  std::vector<std::string> files() const {
    return {folder_.path() + "/0", folder_.path() + "/1", folder_.path() + "/2"};
  }

 private:
  ProbeFolder folder_;
  Probes probes_;
};

std::string noted(std::vector<int> signals) {
  std::string text = "ready\n";
  for (const int number : signals) text += "signal " + std::to_string(number) + "\n";
  return text;
}

TEST(Launch, EverySignalReachesEachRankOnce) {
  Noting ranks;
  std::vector<int> sent;
  for (const int number : {SIGUSR1, SIGHUP, SIGINT, SIGUSR1, SIGTERM}) {
    ranks.signal(number);
    sent.push_back(number);
    EXPECT_TRUE(ranks.all_have(noted(sent)));
  }
  EXPECT_EQ(ranks.probes().ended_within(kLongest), 128 + SIGTERM) << ranks.probes().output();
  EXPECT_EQ(ranks.probes().output().find("rank 1 "), std::string::npos)
      << "a rank ended by a forwarded signal has not failed";
}

/// The system's letter for a process's state: T if it is stopped.
char state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  file >> number >> name >> state;
  return state.empty() ? 'X' : state[0];
}

TEST(Launch, AllStopAndContinueTogether) {
  Noting ranks;
  const auto all_in = [&](bool stopped) {
    return comes_true([&] {
      for (const pid_t pid : ranks.pids())
        if ((state_of(pid) == 'T') != stopped) return false;
      return true;
    });
  };
  ASSERT_EQ(ranks.pids().size(), 4u);
  ranks.signal(SIGTSTP);
  EXPECT_TRUE(all_in(true));
  ranks.signal(SIGCONT);
  EXPECT_TRUE(all_in(false));
  ranks.signal(SIGTERM);
  EXPECT_EQ(ranks.probes().ended_within(kLongest), 128 + SIGTERM) << ranks.probes().output();
}

/// The ranks inherit one end of a pipe: reading from the other one ends when the last of them has ended.
TEST(Launch, ItsDeathEndsAll) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  Noting ranks;
  writing = Descriptor();
  ranks.signal(SIGKILL);
  EXPECT_EQ(ranks.probes().ended_within(kLongest), 128 + SIGKILL);
  pollfd look{reading.fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&look, 1, kLongest * 1000), 1);
}

TEST(Launch, RanksThatIgnoreSignalsAreKilled) {
  const auto begin = std::chrono::steady_clock::now();
  Probes probes(probe_command("shm", 2, "deaf"));
  EXPECT_EQ(probes.ended_within(kLongest), 3) << probes.output();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(Launch, ASignalBeforeARanksHandlersEndsAll) {
  for (const int number : {SIGINT, SIGHUP}) {
    const ProbeFolder folder;
    Probes probes(probe_command("shm", 3, "half_ready"), {"PROBE_FOLDER=" + folder.path()});
    ASSERT_TRUE(comes_true([&] { return file_exists(folder.path() + "/0"); })) << probes.output();
    ::kill(probes.pid(), number);
    EXPECT_EQ(probes.ended_within(kLongest), 128 + number) << probes.output();
    EXPECT_EQ(probes.output().find("has failed"), std::string::npos) << probes.output();
    EXPECT_NE(probes.output().find("nothing was trained"), std::string::npos) << probes.output();
  }
}

TEST(Launch, EnginesOfOtherLaunchersAreErrors) {
  EXPECT_THROW(launch_local(2, "openmpi", {"x"}), Error);
  EXPECT_THROW(launch_local(2, "mpich", {"x"}), Error);
  EXPECT_THROW(launch_local(2, "smh", {"x"}), Error);
  EXPECT_THROW(launch_local(0, "shm", {"x"}), Error);
}

}  // namespace
}  // namespace cortado::ranks
