#pragma once

#include <sys/wait.h>
#include <unistd.h>

namespace cortado {

/// The exit status of a forked child that runs `body`, or the signal that ended it, as a shell states them: 0 if `body`
/// returns true, 1 if it returns false.
template <typename Body>
int status_in_child(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    ::_exit(body() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace cortado
