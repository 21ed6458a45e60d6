#include "data/sources/token_reader.h"

#include <algorithm>
#include <cstdint>

#include "core/error.h"

namespace cortado::data {

namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v'; }

}  // namespace

bool TokenReader::at_end() {
  skip_space();
  return rest_.empty();
}

std::string_view TokenReader::next(const char* what) {
  if (at_end()) fail({}, std::string("the file ends where ") + what + " is expected");
  size_t length = 0;
  while (length < rest_.size() && !is_space(rest_[length])) ++length;
  return take(length);
}

std::string_view TokenReader::path(const char* what) {
  const std::string_view word = next(what);
  const std::string_view line = rest_.substr(0, rest_.find('\n'));
  const size_t begin = line.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return word;
  const std::string_view follows = line.substr(begin, line.find_first_of(" \t\r", begin) - begin);
  if (std::all_of(follows.begin(), follows.end(), [](char c) { return c >= '0' && c <= '9'; })) return word;
  const size_t last = line.find_last_not_of(" \t\r");
  take(last + 1);
  return {word.data(), size_t(line.data() + last + 1 - word.data())};
}

void TokenReader::begin_image() {
  if (const std::string_view mark = next("'#'"); mark != "#")
    fail(mark, "'" + printable(mark.substr(0, 40)) + "' where '#' is expected, the start of an image");
  number<int64_t>("the image's index", 0);
}

void TokenReader::fail(std::string_view word, const std::string& what) const {
  const int column = word.empty() ? 0 : int(word.data() - line_.data()) + 1;
  const std::string text = printable(line_.substr(0, line_.find_first_of("\r\n")));
  throw Error(ExitCode::kData, Diagnostic{{path_, number_, column, text}, what, hint_, {}});
}

std::string_view TokenReader::take(size_t length) {
  const std::string_view taken = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return taken;
}

void TokenReader::skip_space() {
  while (!rest_.empty() && is_space(rest_.front())) {
    const bool ends_line = rest_.front() == '\n';
    rest_.remove_prefix(1);
    if (!ends_line) continue;
    ++number_;
    line_ = rest_;
  }
}

}  // namespace cortado::data
