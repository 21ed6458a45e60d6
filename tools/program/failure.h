#pragma once

#include <string>

namespace cortado::tools {

/// What an exception means to the user.
struct Failure {
  int code;
  std::string text;  ///< as show_error() takes it
};

/// That of the exception that is being handled. One of no known kind goes on.
Failure current_failure();

/// From now on a program that cannot get even a small block of memory ends at once, with words and the exit code of
/// ExitCode::kDevice: an exception would need memory on its way (C libraries that it passes are asked to unwind), and
/// end in abort(). Where only a large block is missing, operator new throws as ever; where that meets what may not
/// throw, the program ends in the same way. Files are left as by a kill.
void end_without_memory();

}  // namespace cortado::tools
