#pragma once

#include <string>

namespace cortado::tools {

/// An exception as text and exit code.
struct Failure {
  int code;
  std::string text;  ///< for show_error()
};

/// The failure of the exception that is being handled. Rethrows exceptions of unknown types.
Failure current_failure();

/// From now on the program ends at once, with a message and ExitCode::kDevice, if it cannot allocate even a small
/// block. An exception needs memory itself, and would end in abort(). For larger blocks operator new throws as usual;
/// in noexcept code the program then ends in the same way. Files are left as after SIGKILL.
void end_without_memory();

}  // namespace cortado::tools
