#include <algorithm>
#include <sstream>

#include "tools/runs/run_comparison.h"

namespace cortado::runs {

namespace {

constexpr size_t kMaxLines = 4000;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// lengths[i][j]: of the longest common subsequence of a from i on and b from j on.
std::vector<std::vector<int>> common_lengths(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::vector<int>> lengths(a.size() + 1, std::vector<int>(b.size() + 1, 0));
  for (size_t i = a.size(); i-- > 0;)
    for (size_t j = b.size(); j-- > 0;)
      lengths[i][j] = a[i] == b[j] ? lengths[i + 1][j + 1] + 1 : std::max(lengths[i + 1][j], lengths[i][j + 1]);
  return lengths;
}

}  // namespace

std::vector<std::string> line_differences(const std::string& before, const std::string& after) {
  const std::vector<std::string> a = lines_of(before), b = lines_of(after);
  const bool compared = a.size() <= kMaxLines && b.size() <= kMaxLines;
  const std::vector<std::vector<int>> lengths = compared ? common_lengths(a, b) : std::vector<std::vector<int>>();
  std::vector<std::string> lines;
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j] && compared) {
      ++i, ++j;
    } else if (i < a.size() && (j == b.size() || !compared || lengths[i + 1][j] >= lengths[i][j + 1])) {
      lines.push_back("- " + a[i++]);
    } else {
      lines.push_back("+ " + b[j++]);
    }
  }
  return before == after ? std::vector<std::string>() : lines;
}

}  // namespace cortado::runs
