#pragma once

// Child processes.

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "core/files/descriptor.h"
#include "core/forks.h"

namespace cortado {

/// A pipe. Child processes inherit neither end unless one is passed as a standard stream.
struct Pipe {
  Descriptor read, write;
};
Pipe make_pipe();  ///< throws std::runtime_error if no descriptors are left

/// How a process ended.
struct ProcessEnd {
  int code = 0;    ///< exit status
  int signal = 0;  ///< the signal that ended it; 0 after an exit

  int shell_code() const { return signal == 0 ? code : 128 + signal; }
  std::string crash() const;  ///< the signal's description
};

/// The end of a child, without waiting; nullopt while it runs, or if unknown.
std::optional<ProcessEnd> ended_process(pid_t process);

struct ProcessOptions {
  enum class Bond {
    kPart,     ///< in this process's group: both receive a terminal's signals, and signal dispositions are inherited
    kGroup,    ///< in a new process group, with no signal blocked or ignored
    kSession,  ///< also in a new session, with only the standard descriptors, so that it can outlive this process
    kLife,     ///< also ended (SIGKILL) by the system when the thread that started it ends, however that ends
  };

  std::vector<std::string> words;  ///< the program's path and its arguments
  Bond bond = Bond::kPart;
  std::string folder{};               ///< working folder; "": this process's
  int in = -1, out = -1, error = -1;  ///< standard streams; -1: inherited
};

/// A child process. The destructor kills it if it still runs, together with the group that it leads.
class Process {
 public:
  explicit Process(const ProcessOptions& options);  ///< throws std::runtime_error with the reason if the start fails
  /// Forks; `in_child` runs in the child and never returns. Throws like the constructor.
  template <class Body>
  static Process forked(const Body& in_child) {
    Process child(fork_or_throw());
    if (child.id_ == 0) in_child();
    return child;
  }
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;

  pid_t id() const { return id_; }
  /// Waits for the end; call it once. nullopt if the end is unknown.
  std::optional<ProcessEnd> wait();
  /// Like wait() without blocking: nullopt while the child runs.
  std::optional<ProcessEnd> end_if_any();
  /// Detaches the child from this object.
  pid_t release();

 private:
  explicit Process(pid_t id) : id_(id) {}
  static pid_t fork_or_throw();

  pid_t id_ = -1;
  bool leads_group_ = false;
  MadeHere made_here_;
};

/// An argv array for exec(), with pointers into `words`.
std::vector<char*> pointers_to(const std::vector<std::string>& words);

}  // namespace cortado
