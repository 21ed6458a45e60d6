#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "proto/text/positions.h"

namespace cortado {

enum class TokenKind { kEnd, kName, kInteger, kFloat, kString, kSymbol, kInvalid };

/// A token of a prototxt. `text` is as written, quotes included, and is valid as long as the input.
struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  Position position;

  bool is(char symbol) const { return kind == TokenKind::kSymbol && text[0] == symbol; }
};

/// Splits a prototxt into tokens by the rules of protobuf's text format: names; decimal, hexadecimal and octal
/// integers; floats (with an optional f); strings in either quotes; single characters; `#` starts a comment.
/// (protobuf's own tokenizer counts a tab as up to eight columns, so its columns are not indices into the line.)
class Lexer {
 public:
  /// `report` receives errors of single tokens; these are returned as kInvalid.
  using Report = std::function<void(Position, std::string message)>;
  Lexer(std::string_view text, Report report);

  /// The next token; kEnd after the last one.
  Token next();

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void skip_blanks();
  Position here() const { return {line_, int(at_ - line_start_) + 1}; }
  Token make(TokenKind kind, size_t start, Position position) const;
  Token wrong(size_t start, Position position, std::string message);
  Token number();
  Token string();
  bool escape();

  std::string_view text_;
  Report report_;
  size_t at_ = 0, line_start_ = 0;
  int line_ = 1;
};

}  // namespace cortado
