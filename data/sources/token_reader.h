#pragma once

// Tokens of text files that list images with windows or objects.

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include "data/formats/text.h"

namespace cortado::data {

/// Reads the tokens of a text, which are separated by any white space, and tracks their positions.
class TokenReader {
 public:
  /// All three arguments must outlive this object. `hint` describes the file's format and is part of error messages.
  TokenReader(const std::string& path, std::string_view text, const std::string& hint)
      : path_(path), hint_(hint), rest_(without_bom(text)), line_(rest_) {}

  bool at_end();
  /// Throws Error(kData) at the end of the file.
  std::string_view next(const char* what);
  /// Throws Error(kData) if the next token is not a number of the type, or is below `least`.
  template <typename T>
  T number(const char* what, T least);
  /// A token, or the rest of the line if it is not only numbers: a path may contain spaces.
  std::string_view path(const char* what);
  /// Reads '# INDEX', the start of an image.
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
    fail(word, "'" + printable(word.substr(0, 40)) + "' where " + what + " is expected");
  if (!(value >= least)) fail(word, std::string(what) + " is " + printable(word.substr(0, 40)));
  return value;
}

}  // namespace cortado::data
