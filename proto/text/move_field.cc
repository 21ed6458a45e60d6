#include "proto/text/move_field.h"

#include <google/protobuf/descriptor.h>

#include <string_view>

#include "core/error.h"

namespace cortado {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

const FieldDescriptor* field_named(const Message& message, std::string_view name) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(std::string(name));
  if (field == nullptr) throw_internal("no field " + std::string(name) + " in " + message.GetTypeName());
  return field;
}

/// The message that `part` ("param[1]" or "transform_param") names in `message`; created if missing.
Message* message_at(Message& message, std::string_view part) {
  const size_t bracket = part.find('[');
  const FieldDescriptor* field = field_named(message, part.substr(0, bracket));
  const Reflection& reflection = *message.GetReflection();
  if (bracket == std::string_view::npos) return reflection.MutableMessage(&message, field);
  const int index = std::stoi(std::string(part.substr(bracket + 1)));
  while (reflection.FieldSize(message, field) <= index) reflection.AddMessage(&message, field);
  return reflection.MutableRepeatedMessage(&message, field, index);
}

/// Exact for all 32-bit types; old fields have no others.
double number_of(const Message& message, const FieldDescriptor* field, int index) {
  const Reflection& r = *message.GetReflection();
  const bool one = !field->is_repeated();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return one ? r.GetInt32(message, field) : r.GetRepeatedInt32(message, field, index);
    case FieldDescriptor::CPPTYPE_UINT32:
      return one ? r.GetUInt32(message, field) : r.GetRepeatedUInt32(message, field, index);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return one ? r.GetFloat(message, field) : r.GetRepeatedFloat(message, field, index);
    case FieldDescriptor::CPPTYPE_BOOL:
      return one ? r.GetBool(message, field) : r.GetRepeatedBool(message, field, index);
    case FieldDescriptor::CPPTYPE_ENUM:
      return one ? r.GetEnumValue(message, field) : r.GetRepeatedEnumValue(message, field, index);
    default:
      throw_internal("field " + field->full_name() + " is not a number");
  }
}

void put_number(Message& message, const FieldDescriptor* field, double value) {
  const Reflection& r = *message.GetReflection();
  const bool one = !field->is_repeated();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return one ? r.SetInt32(&message, field, int32_t(value)) : r.AddInt32(&message, field, int32_t(value));
    case FieldDescriptor::CPPTYPE_INT64:
      return one ? r.SetInt64(&message, field, int64_t(value)) : r.AddInt64(&message, field, int64_t(value));
    case FieldDescriptor::CPPTYPE_UINT32: {
      const auto number = uint32_t(int64_t(value));
      return one ? r.SetUInt32(&message, field, number) : r.AddUInt32(&message, field, number);
    }
    case FieldDescriptor::CPPTYPE_FLOAT:
      return one ? r.SetFloat(&message, field, float(value)) : r.AddFloat(&message, field, float(value));
    case FieldDescriptor::CPPTYPE_BOOL:
      return one ? r.SetBool(&message, field, value != 0) : r.AddBool(&message, field, value != 0);
    case FieldDescriptor::CPPTYPE_ENUM:
      return one ? r.SetEnumValue(&message, field, int(value)) : r.AddEnumValue(&message, field, int(value));
    default:
      throw_internal("field " + field->full_name() + " is not a number");
  }
}

std::string string_of(const Message& message, const FieldDescriptor* field, int index) {
  const Reflection& r = *message.GetReflection();
  return field->is_repeated() ? r.GetRepeatedString(message, field, index) : r.GetString(message, field);
}

void put(const Message& from, const FieldDescriptor* source, int index, Message& to, const FieldDescriptor* target) {
  const Reflection& in = *from.GetReflection();
  const Reflection& out = *to.GetReflection();
  if (source->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    const Message& value =
        source->is_repeated() ? in.GetRepeatedMessage(from, source, index) : in.GetMessage(from, source);
    (target->is_repeated() ? out.AddMessage(&to, target) : out.MutableMessage(&to, target))->CopyFrom(value);
  } else if (source->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    const std::string value = string_of(from, source, index);
    target->is_repeated() ? out.AddString(&to, target, value) : out.SetString(&to, target, value);
  } else {
    put_number(to, target, number_of(from, source, index));
  }
}

}  // namespace

void copy_field(const PlacedMessage& from, const std::string& from_field, int index, const PlacedMessage& to,
                const std::string& to_field, Positions& positions) {
  Message* message = &to.message;
  std::string_view rest = to_field;
  std::string path = to.path;
  for (size_t dot; (dot = rest.find('.')) != std::string_view::npos; rest.remove_prefix(dot + 1)) {
    message = message_at(*message, rest.substr(0, dot));
    path = path_to(path, rest.substr(0, dot));
  }
  const FieldDescriptor* target = field_named(*message, rest);
  const int place = target->is_repeated() ? message->GetReflection()->FieldSize(*message, target) : -1;
  put(from.message, field_named(from.message, from_field), index, *message, target);
  positions.copy(path_to(from.path, from_field, index), path_to(path, rest, place));
}

bool is_set(const Message& message, const std::string& name) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  if (field == nullptr) return false;
  const Reflection& reflection = *message.GetReflection();
  return field->is_repeated() ? reflection.FieldSize(message, field) > 0 : reflection.HasField(message, field);
}

}  // namespace cortado
