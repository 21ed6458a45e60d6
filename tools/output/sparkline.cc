#include "tools/output/sparkline.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/text/text.h"

namespace cortado::tools {

bool utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (!value || !*value) continue;
    std::string lower = lower_case(value);
    std::erase(lower, '-');
    return lower.find("utf8") != std::string::npos;
  }
  return false;
}

std::string sparkline(const std::vector<double>& values) {
  static constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double least = INFINITY, most = -INFINITY;
  size_t numbers = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    least = std::min(least, value);
    most = std::max(most, value);
    ++numbers;
  }
  if (numbers < 2) return "";
  std::string line;
  for (const double value : values) {
    const double height = most > least ? (value - least) / (most - least) : 0;
    line += std::isfinite(value) ? kBlocks[std::min(7, int(height * 8))] : " ";
  }
  return line;
}

void Stretches::add(double value) {
  sum_ += value;
  if (++count_ < each_) return;
  means_[size_++] = sum_ / double(count_);
  sum_ = 0;
  count_ = 0;
  if (size_ < kMost) return;
  for (size_t i = 0; i < kMost / 2; ++i) means_[i] = (means_[2 * i] + means_[2 * i + 1]) / 2;
  size_ = kMost / 2;
  each_ *= 2;
}

std::vector<double> Stretches::means(size_t cells) const {
  std::vector<double> all(means_.begin(), means_.begin() + int64_t(size_));
  if (count_ > 0) all.push_back(sum_ / double(count_));
  if (all.size() <= cells) return all;
  std::vector<double> out;
  for (size_t i = 0; i < cells; ++i) {
    const size_t from = i * all.size() / cells, to = (i + 1) * all.size() / cells;
    double sum = 0;
    for (size_t k = from; k < to; ++k) sum += all[k];
    out.push_back(sum / double(to - from));
  }
  return out;
}

}  // namespace cortado::tools
