#include "proto/text/lexer.h"

#include <algorithm>
#include <utility>

namespace cortado {

namespace {

// The C library's versions depend on the locale.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_octal(char c) { return c >= '0' && c <= '7'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string shown(char c) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  if (byte > 32 && byte < 127) return std::string("'") + c + "'";
  return std::string("byte 0x") + kDigits[byte / 16] + kDigits[byte % 16];
}

}  // namespace

Lexer::Lexer(std::string_view text, Report report) : text_(text), report_(std::move(report)) {
  if (text_.substr(0, 3) == "\xef\xbb\xbf") at_ = 3;  // the byte order mark
}

void Lexer::skip_blanks() {
  for (; at_ < text_.size(); ++at_) {
    if (text_[at_] == '#')
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    if (at_ == text_.size() || !is_blank(text_[at_])) return;
    if (text_[at_] == '\n') {
      ++line_;
      line_start_ = at_ + 1;
    }
  }
}

Token Lexer::make(TokenKind kind, size_t start, Position position) const {
  return {kind, text_.substr(start, at_ - start), position};
}

Token Lexer::wrong(size_t start, Position position, std::string message) {
  report_(position, std::move(message));
  return make(TokenKind::kInvalid, start, position);
}

Token Lexer::next() {
  skip_blanks();
  const size_t start = at_;
  const Position position = here();
  if (at_ == text_.size()) return make(TokenKind::kEnd, start, position);
  const char c = peek();
  if (is_letter(c)) {
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    return make(TokenKind::kName, start, position);
  }
  if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
  if (c == '"' || c == '\'') return string();
  ++at_;
  if (static_cast<unsigned char>(c) > 32 && static_cast<unsigned char>(c) < 127)
    return make(TokenKind::kSymbol, start, position);
  // One error for a run of such bytes; chars above 127 are negative.
  while (at_ < text_.size() && (peek() < 32 || peek() == 127) && !is_blank(peek())) ++at_;
  return wrong(start, position, shown(c) + " is not allowed in a prototxt");
}

Token Lexer::number() {
  const size_t start = at_;
  const Position position = here();
  bool is_float = false;
  if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
    at_ += 2;
    if (!is_hex(peek())) return wrong(start, position, "'0x' is not followed by hexadecimal digits");
    while (is_hex(peek())) ++at_;
  } else if (peek() == '0' && is_digit(peek(1))) {
    while (is_octal(peek())) ++at_;
    if (is_digit(peek())) {
      while (is_digit(peek())) ++at_;
      return wrong(start, position, "a number that starts with 0 is octal and has no digit 8 or 9");
    }
  } else {
    while (is_digit(peek())) ++at_;
    if (peek() == '.') {
      is_float = true;
      ++at_;
      while (is_digit(peek())) ++at_;
    }
    if (peek() == 'e' || peek() == 'E') {
      is_float = true;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!is_digit(peek())) return wrong(start, position, "the exponent of this number has no digits");
      while (is_digit(peek())) ++at_;
    }
    if (peek() == 'f' || peek() == 'F') {
      is_float = true;
      ++at_;
    }
  }
  if (is_letter(peek()) || peek() == '.') {
    while (is_letter(peek()) || is_digit(peek()) || peek() == '.') ++at_;
    const std::string_view text = text_.substr(start, std::min<size_t>(at_ - start, 40));
    return wrong(start, position, "'" + std::string(text) + "' is not a number");
  }
  return make(is_float ? TokenKind::kFloat : TokenKind::kInteger, start, position);
}

/// Skips an escape sequence after its backslash; false if it is invalid.
bool Lexer::escape() {
  const char c = peek();
  ++at_;
  if (std::string_view("abfnrtv\\?'\"01234567").find(c) != std::string_view::npos && c != '\0') return true;
  size_t digits = c == 'u' ? 4 : c == 'U' ? 8 : c == 'x' || c == 'X' ? 1 : 0;
  if (digits == 0) return false;
  if (c == 'U' && (peek() != '0' || peek(1) != '0' || (peek(2) != '0' && peek(2) != '1'))) return false;
  for (; digits > 0; --digits, ++at_)
    if (!is_hex(peek())) return false;
  return true;
}

Token Lexer::string() {
  const size_t start = at_;
  const Position position = here();
  const char quote = peek();
  ++at_;
  bool good = true;
  while (at_ < text_.size() && peek() != '\n') {
    if (peek() == quote) {
      ++at_;
      return good ? make(TokenKind::kString, start, position) : make(TokenKind::kInvalid, start, position);
    }
    const Position where = here();
    if (peek() == '\0') {
      good = false;
      report_(where, "a string must not contain byte 0");
    }
    if (text_[at_++] == '\\' && at_ < text_.size() && peek() != '\n' && !escape() && good) {
      good = false;
      report_(where, "unknown escape in a string");
    }
  }
  return wrong(start, position, std::string("the string is not closed with ") + quote + " on its line");
}

}  // namespace cortado
