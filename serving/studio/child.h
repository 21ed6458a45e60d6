#pragma once

// Child processes: `cortado`, and this program's own subcommand. They do everything that is slow or reads files that
// may be damaged.

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cortado::studio {

struct ChildResult {
  int code = 0;          ///< exit code, or 128 plus the signal number, as in a shell
  std::string out, err;  ///< stdout, and the last MiB of stderr
};

struct ChildOptions {
  std::string folder{};                          ///< working folder
  std::chrono::seconds time{60};                 ///< time limit
  size_t most_out = 32 << 20;                    ///< limit of stdout, in bytes
  const std::atomic<bool>* cancelled = nullptr;  ///< another thread sets it to end the child
  std::function<void(pid_t)> on_start = nullptr;
  std::function<void(std::string_view)> on_err = nullptr;  ///< receives stderr as it is written
};

/// Runs words[0] with the rest as its arguments and waits for its end; stdin is empty. It never outlives this process.
/// Throws RequestError: kLate after the time limit, kTooLarge, kCancelled, or kInternal if it cannot be started.
ChildResult run_child(const std::vector<std::string>& words, const ChildOptions& options);

/// Starts it in its own session, so that it outlives this process; stdout and stderr are appended to `log`.
/// Throws RequestError(kInternal).
pid_t start_child(const std::vector<std::string>& words, const std::string& folder, const std::string& log);

/// The exit code of a process from start_child(), or -1 while it runs.
int ended_child(pid_t process);

/// The path of `cortado`. Throws Error(kIo) if it is not in the folder of this program.
std::string cortado_program();

}  // namespace cortado::studio
