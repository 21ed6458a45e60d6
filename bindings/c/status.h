#pragma once

// From exceptions to outcomes and words: nothing is thrown across the library's border.

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "bindings/c/include/cortado.h"
#include "core/context.h"

namespace cortado::library {

/// Runs `work`; what it throws becomes a status, and the calling thread's last error.
cortado_status guarded(const std::function<void()>& work);

/// What a caller gave instead of NULL. Throws Error(kUsage) that names `what` otherwise.
const char* required(const char* text, const char* what);

/// As device_named(); NULL is the CPU.
Device device_of(const char* name);

/// The parts of a list with commas between them; none of NULL.
std::vector<std::string> listed(const char* text);

/// A caller's options, of which older ones know less: what they lack has its default.
template <typename Options>
Options options_from(const Options* given, Options defaults) {
  if (!given) return defaults;
  const size_t known = std::min(given->size, sizeof(Options));
  std::memcpy(&defaults, given, known);
  defaults.size = sizeof(Options);
  return defaults;
}

}  // namespace cortado::library
