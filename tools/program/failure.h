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

}  // namespace cortado::tools
