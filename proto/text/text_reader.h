#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "proto/text/lexer.h"
#include "proto/text/positions.h"
#include "proto/text/scalar.h"
#include "proto/text/text_mistake.h"

namespace cortado {

/// Parses a message in protobuf's text format and keeps the positions of its fields. Unlike protobuf's parser it
/// continues after an error, at the next field, to report all errors in one run. It limits depth, number of messages
/// and number of errors, because files are untrusted. For one use.
class TextReader {
 public:
  TextReader(std::string_view text, const std::string& file);
  /// Errors show the text of `positions`, which must have the same lines and columns as `text`.
  TextReader(std::string_view text, Positions positions);

  /// Fills `message`, which must be empty. Throws Error(kNet) with every error, in the order of the text. Required
  /// fields may be missing if `partial`.
  Positions read(google::protobuf::Message& message, bool partial = false);
  /// The same, but errors after which the rest can be parsed go to `left_out`; `message` lacks these fields.
  Positions read(google::protobuf::Message& message, TextMistakes& left_out);

 private:
  using Field = google::protobuf::FieldDescriptor;
  using Message = google::protobuf::Message;

  /// A message whose fields are being parsed.
  struct Open {
    Message* message;
    std::string path;
    Token name;                                           // of its field; kEnd for the whole file
    Position first_field;                                 // line 0: none yet
    std::vector<std::pair<size_t, std::string>> unknown;  // errors that get a hint when the message is complete
    std::vector<const Field*> listed = {};                // fields whose values are in their list of axes
  };

  void read_all(google::protobuf::Message& message, bool partial);
  void read_fields(char close);
  void read_field();
  void read_known_field(const Field* field, const Token& name);
  const Field* list_of_axes(const Field* field);
  void read_list(const Field* field, const Token& name);
  void read_element(const Field* field, const Token& name);
  void read_message(const Field* field, const Token& name);
  void read_scalar(const Field* field, const Token& name);
  void report_value(const Field* field, const Token& value, ScalarProblem problem);
  void read_unknown_field(const Token& name);
  bool recover_missing_brace(const Token& name);
  void note_duplicate(const Field* field, const Token& name);
  void check_required(Message& message);
  void add_hints();

  void skip_value();
  void skip_brackets();
  void recover(int line);

  void advance() {
    end_of_last_ = token_.text.data() + token_.text.size();
    token_ = stopped_ ? Token{} : lexer_.next();
  }
  void report(Position position, std::string message, std::string hint = {});
  void report_torn(Position position, std::string message);
  Place layer_around() const;
  void report_unexpected(const std::string& wanted);
  void stop(Position position, std::string message);
  std::string next_path(const Field* field) const;
  Open& innermost() { return open_.back(); }

  Positions positions_;
  TextMistakes mistakes_;
  size_t most_mistakes_;
  bool unrecoverable_ = false;  // fields or braces are missing, so that the message is not what the user meant
  bool stopped_ = false;
  Lexer lexer_;
  Token token_;
  const char* end_of_last_ = nullptr;  ///< in the text: of the token before token_
  std::vector<Open> open_;
  size_t keep_open_ = 0;  // messages deeper than this end now: their closing braces are missing
  int messages_ = 0;
};

}  // namespace cortado
