#pragma once

// Words of the text files that list images with windows or objects in them.

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include "data/formats/text.h"

namespace cortado::data {

/// Words of a text, with their places. Any white space parts them.
class TokenReader {
 public:
  /// All three outlive it. `hint` says how the file is made; mistakes show it.
  TokenReader(const std::string& path, std::string_view text, const std::string& hint)
      : path_(path), hint_(hint), rest_(without_bom(text)), line_(rest_) {}

  bool at_end();
  /// Throws Error(kData) at the end of the file.
  std::string_view next(const char* what);
  /// Throws Error(kData) where the next word is no number of the type, or below `least`.
  template <typename T>
  T number(const char* what, T least);
  /// A word, or the whole line if more than numbers follow: a path may hold spaces.
  std::string_view path(const char* what);
  /// '# INDEX', which begins an image.
  void begin_image();

  int line() const { return number_; }
  [[noreturn]] void fail(std::string_view word, const std::string& what) const;

 private:
  std::string_view take(size_t length);
  void skip_space();

  const std::string &path_, &hint_;
  std::string_view rest_, line_;
  int number_ = 1;
};

template <typename T>
T TokenReader::number(const char* what, T least) {
  const std::string_view word = next(what);
  T value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size())
    fail(word, "'" + printable(word.substr(0, 40)) + "' where " + what + " is wanted");
  if (!(value >= least)) fail(word, std::string(what) + " is " + printable(word.substr(0, 40)));
  return value;
}

}  // namespace cortado::data
