#pragma once

// Functions of shared libraries that are opened when the first of them is called. cuDNN and cuBLASLt are hundreds of
// megabytes: a program that computes on the CPU begins 0.1 s sooner without them, and where they are not installed.

#include <atomic>

#include "core/error.h"

namespace cortado::kernels {

/// The library cannot be used at all: no reason to take another kernel in silence.
class MissingLibrary : public Error {
 public:
  using Error::Error;
};

/// `name` in the library whose file is `file` ("libcudnn.so.9"), found as the system's loader finds it. Throws
/// MissingLibrary with the loader's words.
void* library_symbol(const char* file, const char* name);

template <typename Signature>
class LibraryFunction;

template <typename Result, typename... Arguments>
class LibraryFunction<Result(Arguments...)> {
 public:
  constexpr LibraryFunction(const char* file, const char* name) : file_(file), name_(name) {}

  /// Throws MissingLibrary.
  Result operator()(Arguments... arguments) {
    auto* function = function_.load(std::memory_order_acquire);
    if (!function) {
      function = reinterpret_cast<Result (*)(Arguments...)>(library_symbol(file_, name_));
      function_.store(function, std::memory_order_release);
    }
    return function(arguments...);
  }

 private:
  const char* file_;
  const char* name_;
  std::atomic<Result (*)(Arguments...)> function_ = nullptr;
};

}  // namespace cortado::kernels

/// Declares, in a namespace, what is called like `function` of the header. It hides the header's, which nothing links.
#define CORTADO_LIBRARY_FUNCTION(file, function) \
  inline constinit ::cortado::kernels::LibraryFunction<decltype(::function)> function { file, #function }
#define CORTADO_AS_TEXT_(number) #number
#define CORTADO_AS_TEXT(number) CORTADO_AS_TEXT_(number)
