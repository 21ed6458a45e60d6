#pragma once

// Programs that the studio starts: `cortado` and its own helper. What is long, or reads what may be damaged, is done by
// one of them.

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cortado::studio {

struct ChildResult {
  int code = 0;          ///< as shells have it: 128 and the signal's number where one ended it
  std::string out, err;  ///< the last MiB of the latter
};

struct ChildOptions {
  std::string folder{};                          ///< that it works in
  std::chrono::seconds time{60};                 ///< after which it is ended
  size_t most_out = 32 << 20;                    ///< more, and it is ended
  const std::atomic<bool>* cancelled = nullptr;  ///< set by somebody else: it is ended
  std::function<void(pid_t)> on_start = nullptr;
  std::function<void(std::string_view)> on_err = nullptr;  ///< is told what it writes to stderr, as it comes
};

/// Runs words[0] with the rest as its arguments and waits for its end; stdin is empty. Throws RequestError(kLate) where
/// its time was over, kTooLarge, kCancelled, kInternal where it cannot be started.
ChildResult run_child(const std::vector<std::string>& words, const ChildOptions& options);

/// Starts it in a session of its own, so that it outlives this process; stdout and stderr go to the end of `log`.
/// Throws RequestError(kInternal).
pid_t start_child(const std::vector<std::string>& words, const std::string& folder, const std::string& log);

/// The exit code of a process that start_child() started, if it has ended; else -1.
int ended_child(pid_t process);

/// The path of `cortado`. Throws Error(kIo) where it does not lie beside this program.
std::string cortado_program();

}  // namespace cortado::studio
