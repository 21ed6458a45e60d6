#pragma once

// Functions of shared libraries that are loaded at the first call. cuDNN and cuBLASLt are hundreds of megabytes large.
// Without loading them CPU programs start 0.1 s faster, and run where they are not installed.

#include <atomic>

#include "core/error.h"

namespace cortado::kernels {

/// The library cannot be loaded. Callers must not silently fall back to another kernel.
class MissingLibrary : public Error {
 public:
  using Error::Error;
};

/// Finds symbol `name` in library `file` ("libcudnn.so.9") with the system's loader. Throws MissingLibrary with the
/// loader's message.
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

/// Declares an object that is called like `function` of the header. It hides the header's declaration, which is never
/// linked.
#define CORTADO_LIBRARY_FUNCTION(file, function) \
  inline constinit ::cortado::kernels::LibraryFunction<decltype(::function)> function { file, #function }
#define CORTADO_AS_TEXT_(number) #number
#define CORTADO_AS_TEXT(number) CORTADO_AS_TEXT_(number)
