#include "data/convert/class_numbers.h"

#include <algorithm>
#include <charconv>

namespace cortado::data {

namespace {

bool read_number(const std::string& text, int32_t& number) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::vector<int32_t> class_numbers(const std::vector<std::string>& labels, std::vector<std::string>& names) {
  std::vector<int32_t> numbers(labels.size());
  bool all = true;
  for (size_t i = 0; i < labels.size() && all; ++i) all = read_number(labels[i], numbers[i]);
  if (all) return numbers;
  names = labels;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (size_t i = 0; i < labels.size(); ++i)
    numbers[i] = int32_t(std::lower_bound(names.begin(), names.end(), labels[i]) - names.begin());
  return numbers;
}

}  // namespace cortado::data
