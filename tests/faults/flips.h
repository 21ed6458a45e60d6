#pragma once

// Random damage: bit flips and truncated files. CORTADO_FLIPS sets the number of flips, 2,000 by default;
// CORTADO_FLIPS_SEED draws others.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "core/error.h"
#include "core/files/file.h"
#include "core/rng.h"

namespace cortado {

inline int number_of_flips() {
  const char* text = std::getenv("CORTADO_FLIPS");
  return text ? std::atoi(text) : 2000;
}

/// The stream of a test's damage.
inline RandomStream damage_stream(uint64_t test) {
  const char* text = std::getenv("CORTADO_FLIPS_SEED");
  return RandomStream(test + 1000 * (text ? std::strtoull(text, nullptr, 10) : 0));
}

/// Counts what damage led to.
struct Tally {
  const char* what;
  int detected = 0, harmless = 0, silent = 0;

  ~Tally() {
    std::printf("faults: %s: %d damaged files, %d detected, %d harmless: %d violations\n", what,
                detected + harmless + silent, detected, harmless, silent);
  }

  /// `is_same` reads the damaged files, and returns whether the content is unchanged.
  bool count(const std::function<bool()>& is_same) {
    bool same = false;
    try {
      same = is_same();
    } catch (const Error&) {
      ++detected;
      return true;
    }
    same ? ++harmless : ++silent;
    return same;
  }
};

inline std::string with_flip(std::string bytes, RandomStream& random) {
  const uint64_t bit = random.below(bytes.size() * 8);
  bytes[bit / 8] = char(bytes[bit / 8] ^ (1 << bit % 8));
  return bytes;
}

inline std::string cut(const std::string& bytes, RandomStream& random) {
  return bytes.substr(0, random.below(bytes.size()));
}

/// Calls look() with `flips` files with a flipped bit, and a tenth as many truncated files. `test` is the number of the
/// test, so that tests draw different damage.
inline void damage(const std::string& bytes, int flips, uint64_t test,
                   const std::function<void(const std::string& damaged)>& look) {
  RandomStream random = damage_stream(test);
  for (int i = 0; i < flips; ++i) look(with_flip(bytes, random));
  for (int i = 0; i < flips / 10; ++i) look(cut(bytes, random));
}

/// Writes the file in place: an atomic write would sync.
inline void put_file(const std::string& path, const std::string& bytes) {
  std::filesystem::remove(path);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size()) std::abort();
  std::fclose(file);
}

}  // namespace cortado
