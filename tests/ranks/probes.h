#pragma once

// Ranks as processes of their own: tests/ranks/probe/ranks_probe.cc, started as users start an engine's ranks.

#include <gtest/gtest.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace cortado::ranks {

/// Engines' names, those that can be here.
inline const std::vector<std::string> kEngines = {"shm", "openmpi", "mpich", "gloo"};

/// Why an engine cannot be tested here; "" where it can.
std::string why_not(const std::string& engine);

/// How a user starts `ranks` probes that do `action`.
std::vector<std::string> probe_command(const std::string& engine, int ranks, const std::string& action);

/// A started command. What still runs when it goes is killed.
class Probes {
 public:
  Probes(const std::vector<std::string>& command, const std::vector<std::string>& variables = {});
  ~Probes();
  Probes(const Probes&) = delete;
  Probes& operator=(const Probes&) = delete;

  pid_t pid() const { return pid_; }
  /// The exit code of the command, 128 + a signal's number; none where it has not ended within that many seconds, which
  /// should be many: the machine may have other things to do.
  std::optional<int> ended_within(int seconds);
  std::string output() const;  ///< all that it has written so far, to either

 private:
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
  std::string file_;
};

/// A new folder, removed when it goes.
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
