#pragma once

// Converts exceptions to status codes and messages: no exception leaves the library.

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "bindings/c/include/cortado.h"
#include "core/context.h"

namespace cortado::library {

/// Runs `work`; converts an exception to a status and the calling thread's last error.
cortado_status guarded(const std::function<void()>& work);

/// Sets the calling thread's last error, for functions that return no status.
void note_error(const std::string& text);

/// Returns `text`. Throws Error(kUsage) with `what` if it is NULL.
const char* required(const char* text, const char* what);

/// Throws Error(kUsage) if a struct of `size` bytes has set fields beyond the `known` bytes, or is too small to be one.
void require_size(const void* options, size_t size, size_t known);

/// Like device_named(); NULL is the CPU.
Device device_of(const char* name);

/// Splits a comma-separated list; NULL is empty.
std::vector<std::string> listed(const char* text);

/// Copies a caller's options. Fields that an older caller's struct lacks get their defaults. Throws Error(kUsage) for a
/// size that no version has, and if a newer caller sets fields that are not known here.
template <typename Options>
Options options_from(const Options* given, Options defaults) {
  if (!given) return defaults;
  require_size(given, given->size, sizeof(Options));
  const size_t known = std::min(given->size, sizeof(Options));
  std::memcpy(&defaults, given, known);
  defaults.size = sizeof(Options);
  return defaults;
}

}  // namespace cortado::library
