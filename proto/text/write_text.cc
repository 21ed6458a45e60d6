#include "proto/text/write_text.h"

#include <google/protobuf/text_format.h>

#include <vector>

#include "core/error.h"

namespace cortado {

std::string to_text(const google::protobuf::Message& message) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetPrintMessageFieldsInIndexOrder(true);
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  if (!printer.PrintToString(message, &text)) throw_internal("a message that cannot be printed");
  return text;
}

namespace {

constexpr size_t kWidest = 120;

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// A field, or one element of it, on one line.
struct Piece {
  std::string text;
  const Message* message = nullptr;  ///< its value, if it is a message
  std::string name;
};

std::string one_line(const Message& message) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  printer.SetPrintMessageFieldsInIndexOrder(true);
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  if (!printer.PrintToString(message, &text)) throw_internal("a message that cannot be printed");
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

Piece message_piece(const FieldDescriptor& field, const Message& value) {
  const std::string inner = one_line(value);
  return {field.name() + (inner.empty() ? " { }" : " { " + inner + " }"), &value, field.name()};
}

std::vector<Piece> pieces_of(const Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<Piece> pieces;
  for (int f = 0; f < message.GetDescriptor()->field_count(); ++f) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(f);
    const bool repeated = field.is_repeated();
    const int n = repeated ? reflection.FieldSize(message, &field) : int(reflection.HasField(message, &field));
    for (int i = 0; i < n; ++i) {
      if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        pieces.push_back(message_piece(field, repeated ? reflection.GetRepeatedMessage(message, &field, i)
                                                       : reflection.GetMessage(message, &field)));
        continue;
      }
      std::string value;
      google::protobuf::TextFormat::Printer printer;
      printer.SetUseUtf8StringEscaping(true);
      printer.PrintFieldValueToString(message, &field, repeated ? i : -1, &value);
      pieces.push_back({field.name() + ": " + value, nullptr, field.name()});
    }
  }
  return pieces;
}

}  // namespace

std::string to_compact_text(const std::string& name, const Message& message, size_t indent) {
  const std::string space(indent, ' '), inner(indent + 2, ' ');
  const std::string whole = one_line(message);
  if (whole.empty()) return space + name + " { }\n";
  if (space.size() + name.size() + whole.size() + 5 <= kWidest) return space + name + " { " + whole + " }\n";
  std::string out = space + name + " {\n", line;
  std::string last;  // name of the line's last piece: only repeated messages share lines
  const auto end_line = [&] {
    if (!line.empty()) out += line + "\n";
    line.clear();
  };
  for (const Piece& piece : pieces_of(message)) {
    const bool joins = piece.message == nullptr ? last != "{" : last == "{" && line.find(piece.name) == inner.size();
    if (!line.empty() && (!joins || line.size() + 1 + piece.text.size() > kWidest)) end_line();
    last = piece.message ? "{" : ":";
    if (piece.message && inner.size() + piece.text.size() > kWidest)
      out += to_compact_text(piece.name, *piece.message, indent + 2);
    else
      line += (line.empty() ? inner : " ") + piece.text;
  }
  end_line();
  return out + space + "}\n";
}

}  // namespace cortado
