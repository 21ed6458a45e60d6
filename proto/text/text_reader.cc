#include "proto/text/text_reader.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "proto/cortado.pb.h"
#include "proto/text/text_mistake.h"

namespace cortado {

namespace {

constexpr size_t kTextReaderDeepest = 64;
constexpr int kMaxMessages = 100'000;
constexpr size_t kMaxLeftOut = 5000;
constexpr size_t kAllOpen = std::numeric_limits<size_t>::max();

std::string quoted(std::string_view text) {
  constexpr size_t kLongest = 80;
  return "'" + std::string(text.substr(0, kLongest)) + (text.size() > kLongest ? "..." : "") + "'";
}

bool opens(const Token& token) { return token.is('{') || token.is('<') || token.is('['); }
bool closes(const Token& token) { return token.is('}') || token.is('>') || token.is(']'); }

}  // namespace

TextReader::TextReader(std::string_view text, const std::string& file) : TextReader(text, Positions(file, text)) {}

TextReader::TextReader(std::string_view text, Positions positions)
    : positions_(std::move(positions)),
      most_mistakes_(kMaxMistakesTold),
      lexer_(text, [this](Position position, std::string message) { report_torn(position, std::move(message)); }),
      keep_open_(kAllOpen) {}

Positions TextReader::read(Message& message, bool partial) {
  read_all(message, partial);
  std::vector<Diagnostic> list;
  for (TextMistake& found : mistakes_) list.push_back(std::move(found.mistake));
  if (!list.empty()) throw Error(ExitCode::kNet, std::move(list));
  return std::move(positions_);
}

Positions TextReader::read(Message& message, TextMistakes& left_out) {
  most_mistakes_ = kMaxLeftOut;
  read_all(message, false);
  if (!unrecoverable_) {
    left_out = std::move(mistakes_);
    return std::move(positions_);
  }
  throw Error(ExitCode::kNet, first_of(mistakes_, "too many errors: only the first are listed"));
}

void TextReader::read_all(Message& message, bool partial) {
  open_.push_back({&message, "", {}, {}, {}});
  advance();
  read_fields('\0');
  if (mistakes_.empty() && !partial) check_required(message);
  std::stable_sort(mistakes_.begin(), mistakes_.end(), [](const TextMistake& a, const TextMistake& b) {
    const Place &first = a.mistake.place, &second = b.mistake.place;
    return std::pair(first.line, first.column) < std::pair(second.line, second.column);
  });
}

void TextReader::report(Position position, std::string message, std::string hint) {
  if (stopped_) return;
  mistakes_.push_back({{positions_.at(position), std::move(message), std::move(hint), {}}, layer_around()});
  if (mistakes_.size() >= most_mistakes_) stop(position, "too many errors: the rest is not read");
}

/// Reports an error after which what was read is not what the user meant.
void TextReader::report_torn(Position position, std::string message) {
  unrecoverable_ = true;
  most_mistakes_ = kMaxMistakesTold;
  report(position, std::move(message));
}

Place TextReader::layer_around() const {
  for (const Open& open : open_)
    if (open.name.text == "layer" || open.name.text == "layers") return positions_.at(open.name.position);
  return {};
}

void TextReader::report_unexpected(const std::string& wanted) {
  if (token_.kind == TokenKind::kInvalid) return;  // reported already
  const std::string found = token_.kind == TokenKind::kEnd ? "the end of the file" : quoted(token_.text);
  report_torn(token_.position, "expected " + wanted + ", found " + found);
}

void TextReader::stop(Position position, std::string message) {
  if (stopped_) return;
  stopped_ = unrecoverable_ = true;
  mistakes_.push_back({{positions_.at(position), std::move(message), {}, {}}});
  token_ = {};
}

/// Parses the fields of the innermost open message up to and including its closing bracket ('\0': the end of the file).
void TextReader::read_fields(char close) {
  const size_t depth = open_.size();
  while (!stopped_ && depth <= keep_open_) {
    if (token_.kind == TokenKind::kEnd) {
      if (close != '\0') report_torn(innermost().name.position, quoted(innermost().name.text) + " is not closed");
      break;
    }
    if (close != '\0' && token_.is(close)) {
      advance();
      break;
    }
    read_field();
  }
  add_hints();
  open_.pop_back();
  if (open_.size() <= keep_open_) keep_open_ = kAllOpen;
}

void TextReader::read_field() {
  const Token name = token_;
  if (name.kind != TokenKind::kName) {
    report_unexpected("the name of a field");
    advance();
    return recover(name.position.line);
  }
  if (innermost().first_field.line == 0) innermost().first_field = name.position;
  const Field* field = innermost().message->GetDescriptor()->FindFieldByName(std::string(name.text));
  if (field == nullptr && recover_missing_brace(name)) return;
  advance();
  field != nullptr ? read_known_field(field, name) : read_unknown_field(name);
  if (token_.is(';') || token_.is(',')) advance();
}

void TextReader::read_known_field(const Field* field, const Token& name) {
  const bool colon = token_.is(':');
  if (colon) advance();
  Message& message = *innermost().message;
  if (const Field* list = list_of_axes(field)) {
    field = list;
  } else if (!field->is_repeated() && message.GetReflection()->HasField(message, field)) {
    note_duplicate(field, name);
    return skip_value();
  }
  const bool is_message = field->cpp_type() == Field::CPPTYPE_MESSAGE;
  const bool value = !token_.is('{') && !token_.is('<') && !closes(token_) && token_.kind != TokenKind::kEnd;
  if (!colon && !is_message && value) report(token_.position, "missing ':' after " + quoted(name.text));
  if (token_.is('[') && field->is_repeated()) return read_list(field, name);
  if (token_.is('[')) {
    report(token_.position, quoted(name.text) + " takes one value, not a list");
    return skip_brackets();
  }
  read_element(field, name);
}

/// OpenCL Caffe repeats some singular fields, once for each axis: kernel_size, for which Intel Caffe has the list
/// kernel_size_3d. Returns the list if `field`, at its value, is repeated or a list; moves its first value there.
const TextReader::Field* TextReader::list_of_axes(const Field* field) {
  Open& open = innermost();
  if (field->cpp_type() != Field::CPPTYPE_UINT32 || field->is_repeated()) return nullptr;
  const Field* list = open.message->GetDescriptor()->FindFieldByName(field->name() + "_3d");
  if (list == nullptr || !list->is_repeated() || list->cpp_type() != field->cpp_type()) return nullptr;
  if (std::find(open.listed.begin(), open.listed.end(), field) != open.listed.end()) return list;
  const google::protobuf::Reflection& reflection = *open.message->GetReflection();
  const bool again = reflection.HasField(*open.message, field), is_list = token_.is('[');
  if ((!again && !is_list) || reflection.FieldSize(*open.message, list) > 0) return nullptr;
  open.listed.push_back(field);
  if (!again) return list;
  reflection.AddUInt32(open.message, list, reflection.GetUInt32(*open.message, field));
  reflection.ClearField(open.message, field);
  positions_.move(path_to(open.path, field->name()), path_to(open.path, list->name(), 0));
  return list;
}

void TextReader::read_list(const Field* field, const Token& name) {
  advance();
  if (token_.is(']')) return advance();
  while (!stopped_) {
    read_element(field, name);
    if (token_.is(']')) return advance();
    if (!token_.is(',')) {
      report_unexpected("',' or ']' in the list of " + quoted(name.text));
      recover(token_.position.line);
      if (token_.is(']')) advance();
      return;
    }
    advance();
  }
}

void TextReader::read_element(const Field* field, const Token& name) {
  field->cpp_type() == Field::CPPTYPE_MESSAGE ? read_message(field, name) : read_scalar(field, name);
}

void TextReader::read_message(const Field* field, const Token& name) {
  if (!token_.is('{') && !token_.is('<')) {
    if (token_.kind != TokenKind::kInvalid)
      report(token_.position, quoted(name.text) + " takes " + kind_of(field), "write " + field->name() + " { ... }");
    return recover(name.position.line);
  }
  if (open_.size() > kTextReaderDeepest)
    return stop(token_.position, "messages are nested deeper than " + std::to_string(kTextReaderDeepest));
  if (++messages_ > kMaxMessages)
    return stop(token_.position, "more than " + std::to_string(kMaxMessages) + " messages");
  Message& message = *innermost().message;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const std::string path = next_path(field);
  positions_.add(path, name.position, name.position);
  Message* inner =
      field->is_repeated() ? reflection.AddMessage(&message, field) : reflection.MutableMessage(&message, field);
  open_.push_back({inner, path, name, {}, {}});
  const char close = token_.is('{') ? '}' : '>';
  advance();
  read_fields(close);
}

void TextReader::read_scalar(const Field* field, const Token& name) {
  const Token first = token_;
  ScalarText value;
  if (token_.is('-')) {
    value.negative = true;
    advance();
  }
  value.token = token_;
  if (opens(token_)) {
    report(token_.position, quoted(name.text) + " takes " + kind_of(field) + ", not a message");
    return skip_brackets();
  }
  if (token_.kind == TokenKind::kEnd || token_.kind == TokenKind::kSymbol || token_.kind == TokenKind::kInvalid) {
    report_unexpected("the value of " + quoted(name.text));
    return recover(name.position.line);
  }
  for (bool more = true; more; more = value.token.kind == TokenKind::kString && token_.kind == TokenKind::kString) {
    if (token_.kind == TokenKind::kString)
      google::protobuf::io::Tokenizer::ParseStringAppend(std::string(token_.text), &value.string);
    advance();
  }
  const std::string path = next_path(field);
  ScalarProblem problem = set_scalar(*innermost().message, field, value);
  if (!problem.message.empty()) return report_value(field, first, std::move(problem));
  positions_.add(path, name.position, first.position);
}

/// Does not list the layer types of 2014: there are too many.
void TextReader::report_value(const Field* field, const Token& value, ScalarProblem problem) {
  const bool type = field->enum_type() == caffe::V1LayerParameter::LayerType_descriptor();
  if (type) problem.message = "unknown layer type " + quoted(value.text);
  report(value.position, std::move(problem.message), std::move(problem.hint));
  if (type && !stopped_) mistakes_.back().type = value.text;
}

void TextReader::read_unknown_field(const Token& name) {
  if (stopped_) return;  // at the token after the name
  const std::string where =
      innermost().name.kind == TokenKind::kEnd ? "at the top of the file" : "in " + quoted(innermost().name.text);
  innermost().unknown.emplace_back(mistakes_.size(), name.text);
  unrecoverable_ |= open_.size() == 1 && opens(token_) && !nearest(name.text.substr(0, 20), {"layer"}).empty();
  const size_t index = mistakes_.size();
  report(name.position, "unknown field " + quoted(name.text) + " " + where);
  if (!token_.is(':') && !opens(token_)) return recover(name.position.line);
  skip_value();
  if (!stopped_ && index < mistakes_.size()) mistakes_[index].unknown = std::string(name.text.data(), end_of_last_);
}

/// If a field belongs to an outer message and is not indented more than the message that it would end, a closing brace
/// is missing before it. Without this check, one missing brace makes the rest of the file invalid.
bool TextReader::recover_missing_brace(const Token& name) {
  for (size_t i = open_.size() - 1; i-- > 0;) {
    const Open& ended = open_[i + 1];
    if (!open_[i].message->GetDescriptor()->FindFieldByName(std::string(name.text))) continue;
    const bool indented = ended.first_field.column > ended.name.position.column || ended.first_field.line == 0;
    if (!indented || name.position.column > ended.name.position.column) continue;
    report_torn(name.position, "missing '}' before " + quoted(name.text));
    mistakes_.back().mistake.notes.push_back(
        {positions_.at(ended.name.position), quoted(ended.name.text) + " begins here"});
    keep_open_ = i + 1;
    return true;
  }
  return false;
}

void TextReader::note_duplicate(const Field* field, const Token& name) {
  report(name.position, quoted(name.text) + " is given twice");
  mistakes_.back().mistake.notes.push_back(
      {positions_.name_place(path_to(innermost().path, field->name())), "first here"});
}

void TextReader::check_required(Message& message) {
  std::vector<std::string> missing;
  message.FindInitializationErrors(&missing);
  for (const std::string& path : missing) {
    const size_t dot = path.rfind('.');
    const std::string name = dot == std::string::npos ? path : path.substr(dot + 1);
    const size_t layer = path.find("layer");  // "layer[2].clip_param.max"
    mistakes_.push_back({{positions_.place(path), "'" + name + "' is missing here", {}, {}}});
    if (layer != std::string::npos)
      mistakes_.back().layer = positions_.name_place(path.substr(0, path.find('.', layer)));
  }
}

void TextReader::add_hints() {
  if (innermost().unknown.empty()) return;
  std::vector<const Message*> enclosing;
  for (const Open& open : open_) enclosing.push_back(open.message);
  for (const auto& [index, name] : innermost().unknown) mistakes_[index].mistake.hint = suggest_field(name, enclosing);
}

/// Skips the value of an unknown field: ": scalar", ": [...]" or "{...}".
void TextReader::skip_value() {
  const int line = token_.position.line;
  if (token_.is(':')) advance();
  if (opens(token_)) return skip_brackets();
  if (token_.is('-')) advance();
  if (token_.kind == TokenKind::kSymbol || token_.kind == TokenKind::kEnd) return recover(line);
  const bool string = token_.kind == TokenKind::kString;
  advance();
  while (string && token_.kind == TokenKind::kString) advance();
}

/// Skips brackets and everything between them, at any depth.
void TextReader::skip_brackets() {
  const Token first = token_;
  for (size_t depth = 0; token_.kind != TokenKind::kEnd; advance()) {
    if (opens(token_)) ++depth;
    if (closes(token_) && --depth == 0) return advance();
  }
  report_torn(first.position, quoted(first.text) + " is not closed");
}

/// Skips to the next possible start of a field: a name on a later line than `line`, or after a separator or a closing
/// bracket.
void TextReader::recover(int line) {
  for (size_t depth = 0; token_.kind != TokenKind::kEnd; advance()) {
    if (depth == 0 && (closes(token_) || token_.is(';') || token_.is(','))) return;
    if (depth == 0 && token_.kind == TokenKind::kName && token_.position.line > line) return;
    if (opens(token_)) ++depth;
    if (closes(token_)) --depth;
  }
}

std::string TextReader::next_path(const Field* field) const {
  const Open& open = open_.back();
  const auto* reflection = open.message->GetReflection();
  return path_to(open.path, field->name(), field->is_repeated() ? reflection->FieldSize(*open.message, field) : -1);
}

}  // namespace cortado
