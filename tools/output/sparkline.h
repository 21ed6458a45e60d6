#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace cortado::tools {

/// Whether the user's locale is UTF-8, by LC_ALL, LC_CTYPE or LANG, the first that is set.
bool utf8_locale();

/// The values as blocks of eight heights from the least to the largest, "▂▄█"; those that are no numbers are blanks.
/// "" where fewer than two are numbers.
std::string sparkline(const std::vector<double>& values);

/// A series of any length in little memory: means of equal stretches of it, of which there are 32 to 64 once it is that
/// long. Takes no memory after it is made.
class Stretches {
 public:
  void add(double value);
  /// The series as at most `cells` means; the newest stretch counts as soon as it has a value.
  std::vector<double> means(size_t cells) const;

 private:
  static constexpr size_t kMost = 64;

  std::array<double, kMost> means_{};
  size_t size_ = 0;
  size_t each_ = 1;  ///< values in a stretch
  double sum_ = 0;   ///< of the newest, which is not in means_ yet
  size_t count_ = 0;
};

}  // namespace cortado::tools
