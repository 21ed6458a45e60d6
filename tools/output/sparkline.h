#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace cortado::tools {

/// Whether the user's locale is UTF-8, by the first of LC_ALL, LC_CTYPE and LANG that is set.
bool utf8_locale();

/// The values as blocks of eight heights from the minimum to the maximum, "▂▄█"; NaN and infinity are blanks. "" for
/// fewer than two finite values.
std::string sparkline(const std::vector<double>& values);

/// A series of any length in constant memory: the means of stretches of equal length. A long series has 32 to 64
/// stretches. Allocates in the constructor only.
class Stretches {
 public:
  void add(double value);
  /// The series as at most `cells` means. The newest stretch counts even if it is not full.
  std::vector<double> means(size_t cells) const;

 private:
  static constexpr size_t kMost = 64;

  std::array<double, kMost> means_{};
  size_t size_ = 0;
  size_t each_ = 1;  ///< values in a stretch
  double sum_ = 0;   ///< of the newest stretch, which is not in means_ yet
  size_t count_ = 0;
};

}  // namespace cortado::tools
