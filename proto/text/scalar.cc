#include "proto/text/scalar.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "core/error.h"
#include "core/text/text.h"

namespace cortado {

namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::io::Tokenizer;

std::string as_written(const ScalarText& value) {
  const std::string text(value.token.text.substr(0, 60));
  return (value.negative ? "-" : "") + text + (value.token.text.size() > 60 ? "..." : "");
}

template <typename T>
std::optional<T> integer(const ScalarText& value) {
  if (value.token.kind != TokenKind::kInteger) return {};
  const uint64_t most = uint64_t(std::numeric_limits<T>::max());
  if (value.negative && std::is_unsigned_v<T>) return {};
  uint64_t number = 0;
  if (!Tokenizer::ParseInteger(std::string(value.token.text), value.negative ? most + 1 : most, &number)) return {};
  return value.negative ? T(0 - number) : T(number);
}

std::optional<double> real(const ScalarText& value) {
  const Token& token = value.token;
  double number = 0;
  if (token.kind == TokenKind::kName) {
    const std::string name = lower_case(token.text);
    if (name == "inf" || name == "infinity")
      number = std::numeric_limits<double>::infinity();
    else if (name == "nan")
      number = std::numeric_limits<double>::quiet_NaN();
    else
      return {};
  } else if (token.kind == TokenKind::kFloat) {
    number = Tokenizer::ParseFloat(std::string(token.text));
  } else if (token.kind == TokenKind::kInteger) {
    const bool decimal = token.text.size() == 1 || token.text[0] != '0';
    if (!decimal) return {};  // hexadecimal and octal numbers are integers only
    number = Tokenizer::ParseFloat(std::string(token.text));
  } else {
    return {};
  }
  return value.negative ? -number : number;
}

std::optional<bool> boolean(const ScalarText& value) {
  if (value.negative) return {};
  const std::string_view text = value.token.text;
  if (value.token.kind == TokenKind::kInteger) {
    uint64_t number = 0;
    if (!Tokenizer::ParseInteger(std::string(text), 1, &number)) return {};
    return number == 1;
  }
  if (value.token.kind != TokenKind::kName) return {};
  if (text == "true" || text == "True" || text == "t") return true;
  if (text == "false" || text == "False" || text == "f") return false;
  return {};
}

const EnumValueDescriptor* enum_value(const ScalarText& value, const EnumDescriptor* type) {
  if (value.token.kind == TokenKind::kName && !value.negative)
    return type->FindValueByName(std::string(value.token.text));
  const std::optional<int32_t> number = integer<int32_t>(value);
  return number ? type->FindValueByNumber(*number) : nullptr;
}

std::vector<std::string> names_of(const EnumDescriptor* type) {
  std::vector<std::string> names;
  for (int i = 0; i < type->value_count(); ++i) names.push_back(type->value(i)->name());
  return names;
}

template <typename T>
std::string range() {
  return "a whole number from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
         std::to_string(std::numeric_limits<T>::max());
}

ScalarProblem problem_of(const FieldDescriptor* field, const ScalarText& value) {
  ScalarProblem problem;
  problem.message = "'" + field->name() + "' takes " + kind_of(field) + ", not " + as_written(value);
  const bool word = value.token.kind == TokenKind::kName;
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM && word)
    problem.hint = did_you_mean(value.token.text.substr(0, 60), names_of(field->enum_type()));
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING && word)
    problem.hint = "write " + field->name() + ": \"" + as_written(value) + "\"";
  return problem;
}

/// Sets the value if it is valid for the field; returns whether it is.
bool set_value(Message& message, const FieldDescriptor* field, const ScalarText& value) {
  const Reflection& reflection = *message.GetReflection();
  const bool repeated = field->is_repeated();
  const auto set = [&](const auto& parsed, auto add, auto replace) {
    if (!parsed) return false;
    repeated ? (reflection.*add)(&message, field, *parsed) : (reflection.*replace)(&message, field, *parsed);
    return true;
  };
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return set(integer<int32_t>(value), &Reflection::AddInt32, &Reflection::SetInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return set(integer<int64_t>(value), &Reflection::AddInt64, &Reflection::SetInt64);
    case FieldDescriptor::CPPTYPE_UINT32:
      return set(integer<uint32_t>(value), &Reflection::AddUInt32, &Reflection::SetUInt32);
    case FieldDescriptor::CPPTYPE_UINT64:
      return set(integer<uint64_t>(value), &Reflection::AddUInt64, &Reflection::SetUInt64);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return set(real(value), &Reflection::AddFloat, &Reflection::SetFloat);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return set(real(value), &Reflection::AddDouble, &Reflection::SetDouble);
    case FieldDescriptor::CPPTYPE_BOOL:
      return set(boolean(value), &Reflection::AddBool, &Reflection::SetBool);
    case FieldDescriptor::CPPTYPE_ENUM: {
      const EnumValueDescriptor* found = enum_value(value, field->enum_type());
      if (found == nullptr) return false;
      repeated ? reflection.AddEnum(&message, field, found) : reflection.SetEnum(&message, field, found);
      return true;
    }
    case FieldDescriptor::CPPTYPE_STRING:
      if (value.token.kind != TokenKind::kString || value.negative) return false;
      repeated ? reflection.AddString(&message, field, value.string)
               : reflection.SetString(&message, field, value.string);
      return true;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
  return false;
}

}  // namespace

ScalarProblem set_scalar(Message& message, const FieldDescriptor* field, const ScalarText& value) {
  return set_value(message, field, value) ? ScalarProblem{} : problem_of(field, value);
}

std::string kind_of(const FieldDescriptor* field) {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return range<int32_t>();
    case FieldDescriptor::CPPTYPE_INT64:
      return range<int64_t>();
    case FieldDescriptor::CPPTYPE_UINT32:
      return range<uint32_t>();
    case FieldDescriptor::CPPTYPE_UINT64:
      return range<uint64_t>();
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return "a number";
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case FieldDescriptor::CPPTYPE_STRING:
      return "text in quotes";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return "a message in braces";
    case FieldDescriptor::CPPTYPE_ENUM:
      break;
  }
  return "one of " + list_text(names_of(field->enum_type()));
}

}  // namespace cortado
