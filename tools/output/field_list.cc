#include "tools/output/field_list.h"

#include <algorithm>

#include "proto/cortado.pb.h"
#include "proto/text/field_help.h"
#include "tools/output/terminal.h"

namespace cortado::tools {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

std::string type_of(const FieldDescriptor& field) {
  std::string name = field.type_name();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) name = field.message_type()->name();
  return field.is_repeated() ? name + "..." : name;
}

std::string fallback_of(const FieldDescriptor& field) {
  if (field.is_repeated() || !field.has_default_value()) return "";
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return std::to_string(field.default_value_int32());
    case FieldDescriptor::CPPTYPE_INT64:
      return std::to_string(field.default_value_int64());
    case FieldDescriptor::CPPTYPE_UINT32:
      return std::to_string(field.default_value_uint32());
    case FieldDescriptor::CPPTYPE_UINT64:
      return std::to_string(field.default_value_uint64());
    case FieldDescriptor::CPPTYPE_FLOAT:
      return number_text("%.7g", double(field.default_value_float()));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return number_text("%.15g", field.default_value_double());
    case FieldDescriptor::CPPTYPE_BOOL:
      return field.default_value_bool() ? "true" : "false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return field.default_value_enum()->name();
    case FieldDescriptor::CPPTYPE_STRING:
      return "\"" + field.default_value_string() + "\"";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
  return "";
}

/// The field's comment, followed by those values of its enum that the comment does not name.
std::string help_with_values(const FieldDescriptor& field) {
  const std::string help = help_of(field);
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_ENUM) return help;
  std::string list;
  bool named = true;
  for (int i = 0; i < field.enum_type()->value_count(); ++i) {
    const std::string& value = field.enum_type()->value(i)->name();
    named = named && help.find(value) != std::string::npos;
    list += (i ? ", " : "") + value;
  }
  if (named) return help;
  return help.empty() ? "one of " + list : help + " (" + list + ")";
}

}  // namespace

std::vector<FieldRow> field_rows(const Descriptor& message) {
  std::vector<FieldRow> rows;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    rows.push_back({field.name(), type_of(field), fallback_of(field), help_with_values(field)});
  }
  return rows;
}

const Descriptor* schema_message(const std::string& name) {
  return caffe::LayerParameter::descriptor()->file()->FindMessageTypeByName(name);
}

std::vector<std::string> schema_messages() {
  std::vector<std::string> names;
  const google::protobuf::FileDescriptor& schema = *caffe::LayerParameter::descriptor()->file();
  for (int i = 0; i < schema.message_type_count(); ++i) names.push_back(schema.message_type(i)->name());
  return names;
}

std::vector<const Descriptor*> messages_below(const Descriptor& message) {
  std::vector<const Descriptor*> found = {&message};
  for (size_t at = 0; at < found.size(); ++at)
    for (int i = 0; i < found[at]->field_count(); ++i) {
      const Descriptor* inner = found[at]->field(i)->message_type();
      if (inner && std::find(found.begin(), found.end(), inner) == found.end()) found.push_back(inner);
    }
  found.erase(found.begin());
  return found;
}

}  // namespace cortado::tools
