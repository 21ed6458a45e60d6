#include "tools/runs/message_fields.h"

#include <google/protobuf/text_format.h>

namespace cortado::runs {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// `index`: of an element of a repeated field, else -1.
std::string element_text(const Message& message, const FieldDescriptor& field, int index) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING)
    return index < 0 ? reflection.GetString(message, &field) : reflection.GetRepeatedString(message, &field, index);
  std::string text;
  google::protobuf::TextFormat::Printer().PrintFieldValueToString(message, &field, index, &text);
  return text;
}

void add_fields(const Message& message, const std::string& prefix, std::vector<FieldValue>& to) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  for (int f = 0; f < message.GetDescriptor()->field_count(); ++f) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(f);
    const std::string path = prefix + field.name();
    const int count = field.is_repeated() ? reflection.FieldSize(message, &field) : 0;
    if (count == 0 && (field.is_repeated() || !reflection.HasField(message, &field))) continue;
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
      to.push_back({path, field_text(message, field)});
    else if (!field.is_repeated())
      add_fields(reflection.GetMessage(message, &field), path + ".", to);
    for (int i = 0; i < count && field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE; ++i)
      add_fields(reflection.GetRepeatedMessage(message, &field, i), path + "[" + std::to_string(i) + "].", to);
  }
}

/// Whether a setting names a net, contains one, or is the snapshots' prefix.
bool is_of_the_run(const std::string& setting) {
  const std::string name = setting.substr(0, setting.find_first_of(".["));
  return name == "snapshot_prefix" || name == "net" || name.ends_with("_net") || name.ends_with("net_param");
}

}  // namespace

std::string field_text(const Message& message, const FieldDescriptor& field) {
  if (!field.is_repeated()) return element_text(message, field, -1);
  std::string text;
  for (int i = 0; i < message.GetReflection()->FieldSize(message, &field); ++i)
    text += (i ? ", " : "") + element_text(message, field, i);
  return text;
}

std::vector<FieldValue> fields_of(const Message& message) {
  std::vector<FieldValue> fields;
  add_fields(message, "", fields);
  return fields;
}

std::string default_text(const google::protobuf::Descriptor& message, const std::string& path) {
  const FieldDescriptor* field = message.FindFieldByName(path.substr(0, path.find_first_of(".[")));
  if (!field) return "";
  if (const size_t dot = path.find('.'); dot != path.npos)
    return field->message_type() ? default_text(*field->message_type(), path.substr(dot + 1)) : "";
  if (!field->has_default_value()) return "";
  return field_text(*google::protobuf::MessageFactory::generated_factory()->GetPrototype(&message), *field);
}

std::vector<FieldValue> settings_of(const Message& solver) {
  std::vector<FieldValue> fields = fields_of(solver);
  std::erase_if(fields, [](const FieldValue& field) { return is_of_the_run(field.path); });
  return fields;
}

std::vector<ChangedSetting> changed_settings(const Message& solver) {
  std::vector<ChangedSetting> settings;
  for (const FieldValue& field : settings_of(solver)) {
    const std::string fallback = default_text(*solver.GetDescriptor(), field.path);
    if (field.value != fallback) settings.push_back({field.path, field.value, fallback});
  }
  return settings;
}

}  // namespace cortado::runs
