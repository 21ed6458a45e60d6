#pragma once

// Programs that this one starts, each a process of its own.

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "core/files/descriptor.h"

namespace cortado {

/// What is written to one end is read from the other. Programs that are started have neither unless they are given it.
struct Pipe {
  Descriptor read, write;
};
Pipe make_pipe();  ///< throws std::runtime_error where no descriptors are left

/// How a process has ended.
struct ProcessEnd {
  int code = 0;    ///< of its exit
  int signal = 0;  ///< that ended it; 0: it has exited

  int shell_code() const { return signal == 0 ? code : 128 + signal; }
  std::string crash() const;  ///< the signal, in words
};

/// Null while it runs, and where the system does not know.
std::optional<ProcessEnd> ended_process(pid_t process);

struct ProcessOptions {
  enum class Bond {
    kPart,     ///< of this one's group: a terminal's signals reach both, and this one's handling of signals is its own
    kGroup,    ///< in a group of its own, with no signal blocked or ignored
    kSession,  ///< in a session of its own, too, with no descriptor but three, so that it may outlive this one
  };

  std::vector<std::string> words;  ///< the program's path, and its arguments
  Bond bond = Bond::kPart;
  std::string folder{};               ///< that it works in; "": this one's
  int in = -1, out = -1, error = -1;  ///< what its standard streams are; -1: this one's
};

/// A process that this one has started; where it still runs when this goes, it is ended, with the group that it leads.
class Process {
 public:
  explicit Process(const ProcessOptions& options);  ///< throws std::runtime_error saying why it cannot be started
  /// A fork of this process, in which `in_child` runs and never returns. Throws the same.
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
  /// Waits for its end, once; null where the system does not know how it came.
  std::optional<ProcessEnd> wait();
  /// The same without waiting: null while it runs, too.
  std::optional<ProcessEnd> end_if_any();
  /// Lets it go on without this object.
  pid_t release();

 private:
  explicit Process(pid_t id) : id_(id) {}
  static pid_t fork_or_throw();

  pid_t id_ = -1;
  bool leads_group_ = false;
};

/// The words as exec() and its like take them; they point into `words`.
std::vector<char*> pointers_to(const std::vector<std::string>& words);

}  // namespace cortado
