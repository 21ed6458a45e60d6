#pragma once

// Ranks as separate processes of tests/ranks/probe/ranks_probe.cc, started as users start an engine's ranks.

#include <gtest/gtest.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace cortado::ranks {

/// Names of all engines that a build may have.
inline const std::vector<std::string> kEngines = {"shm", "openmpi", "mpich", "gloo"};

/// Why an engine cannot be tested here; "" if it can.
std::string why_not(const std::string& engine);

/// The command line that starts `ranks` probes with `action`.
std::vector<std::string> probe_command(const std::string& engine, int ranks, const std::string& action);

/// A running command. The destructor kills it.
class Probes {
 public:
  Probes(const std::vector<std::string>& command, const std::vector<std::string>& variables = {});
  ~Probes();
  Probes(const Probes&) = delete;
  Probes& operator=(const Probes&) = delete;

  pid_t pid() const { return pid_; }
  /// The exit code of the command, or 128 + a signal's number; none if it has not ended within that many seconds. The
  /// limit should be high, because the machine may be busy.
  std::optional<int> ended_within(int seconds);
  std::string output() const;  ///< what it has written so far to stdout and stderr

 private:
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
  std::string file_;
};

/// A new folder, removed by the destructor.
class ProbeFolder {
 public:
  ProbeFolder();
  ~ProbeFolder();
  ProbeFolder(const ProbeFolder&) = delete;
  ProbeFolder& operator=(const ProbeFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace cortado::ranks

#define SKIP_WITHOUT(engine) \
  if (const std::string why = ::cortado::ranks::why_not(engine); !why.empty()) GTEST_SKIP() << why
