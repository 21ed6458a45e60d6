#include "data/sources/frame_name.h"

#include <algorithm>
#include <functional>

namespace cortado::data {

namespace {

/// Calls `text` for characters, `number` for %d with its width and whether zeros fill it, and `axis` for %c. Returns
/// false for any other directive.
struct FrameNameParts {
  std::function<void(char)> text;
  std::function<void(size_t width, bool zeros)> number;
  std::function<void()> axis;
};

bool walk(std::string_view format, const FrameNameParts& parts) {
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      parts.text(format[i]);
      continue;
    }
    const bool zeros = i + 1 < format.size() && format[i + 1] == '0';
    size_t width = 0, digits = 0;
    for (++i; i < format.size() && format[i] >= '0' && format[i] <= '9' && digits < 3; ++i, ++digits)
      width = width * 10 + size_t(format[i] - '0');
    if (i >= format.size() || digits > 2) return false;
    if (format[i] == 'd')
      parts.number(width, zeros);
    else if (format[i] == 'c' && digits == 0)
      parts.axis();
    else if (format[i] == '%' && digits == 0)
      parts.text('%');
    else
      return false;
  }
  return true;
}

}  // namespace

std::string fault_of_frame_name(std::string_view format, bool with_axis) {
  int numbers = 0, axes = 0;
  if (!walk(format, {[](char) {}, [&](size_t, bool) { ++numbers; }, [&] { ++axes; }}))
    return "it has a directive other than %d and %c";
  if (numbers != 1) return "it needs %d once, for the number of the frame";
  if (axes != (with_axis ? 1 : 0)) return with_axis ? "it needs %c once, for x and y" : "%c is only for flow";
  return {};
}

std::string frame_name(std::string_view format, int64_t number, char axis) {
  std::string name;
  walk(format, {[&](char c) { name += c; },
                [&](size_t width, bool zeros) {
                  const std::string digits = std::to_string(number);
                  name.append(width - std::min(width, digits.size()), zeros ? '0' : ' ').append(digits);
                },
                [&] { name += axis; }});
  return name;
}

}  // namespace cortado::data
