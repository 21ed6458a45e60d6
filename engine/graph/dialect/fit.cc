#include "graph/dialect/fit.h"

#include <memory>
#include <string_view>
#include <vector>

#include "graph/dialect/table.h"
#include "layers/registry.h"

namespace cortado::dialect {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr std::string_view kPackage = "caffe.";

std::string_view without_package(const std::string& name) {
  return std::string_view(name).substr(name.starts_with(kPackage) ? kPackage.size() : 0);
}

bool has(Target target, const FieldDescriptor& field) {
  return has_field(target, without_package(field.containing_type()->full_name()), field.name());
}

/// Whether the field, which is set, has the value that it has when it is not set.
bool is_default(const Message& message, const FieldDescriptor& field) {
  if (field.is_repeated()) return message.GetReflection()->FieldSize(message, &field) == 0;
  const std::unique_ptr<const Message> copy(message.New());
  const Reflection* reflection = message.GetReflection();
  bool same = false;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM:
      same = reflection->GetEnumValue(message, &field) == reflection->GetEnumValue(*copy, &field);
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      same = reflection->GetBool(message, &field) == reflection->GetBool(*copy, &field);
      break;
    case FieldDescriptor::CPPTYPE_INT32:
      same = reflection->GetInt32(message, &field) == reflection->GetInt32(*copy, &field);
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      same = reflection->GetUInt32(message, &field) == reflection->GetUInt32(*copy, &field);
      break;
    case FieldDescriptor::CPPTYPE_FLOAT:
      same = reflection->GetFloat(message, &field) == reflection->GetFloat(*copy, &field);
      break;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      same = reflection->GetMessage(message, &field).ByteSizeLong() == 0;
      break;
    default:
      break;
  }
  return same;
}

bool may_drop(const Message& message, const FieldDescriptor& field) {
  return is_default(message, field) ||
         is_without_effect(without_package(field.containing_type()->full_name()), field.name());
}

bool knows(Target target, const EnumValueDescriptor& value) {
  return has_value(target, without_package(value.type()->full_name()), value.name());
}

bool knows_values(const Message& message, const FieldDescriptor& field, Target target) {
  const Reflection* reflection = message.GetReflection();
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_ENUM) return true;
  if (!field.is_repeated()) return knows(target, *reflection->GetEnum(message, &field));
  for (int i = 0; i < reflection->FieldSize(message, &field); ++i)
    if (!knows(target, *reflection->GetRepeatedEnum(message, &field, i))) return false;
  return true;
}

std::string fit(Message& message, Target target);

/// What the dialect lacks within a field that is a message, or within its elements.
std::string fit_within(Message& message, const FieldDescriptor& field, Target target) {
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return "";
  const Reflection* reflection = message.GetReflection();
  if (!field.is_repeated()) return fit(*reflection->MutableMessage(&message, &field), target);
  for (int i = 0; i < reflection->FieldSize(message, &field); ++i)
    if (std::string lacks = fit(*reflection->MutableRepeatedMessage(&message, &field, i), target); !lacks.empty())
      return lacks;
  return "";
}

/// The path of the first field that the dialect lacks; "" if it has them all.
std::string fit(Message& message, Target target) {
  const Reflection* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  std::string first;
  for (const FieldDescriptor* field : fields) {
    std::string lacks;
    if (!has(target, *field) || !knows_values(message, *field, target)) {
      if (may_drop(message, *field))
        reflection->ClearField(&message, field);
      else
        lacks = field->name();
    } else if (const std::string inner = fit_within(message, *field, target); !inner.empty()) {
      lacks = field->name() + "." + inner;
    }
    if (first.empty()) first = lacks;
  }
  return first;
}

/// Removes options that layers of this type do not read.
void drop_unread_options(caffe::LayerParameter& layer, Target target) {
  const Reflection* reflection = layer.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(layer, &fields);
  for (const FieldDescriptor* field : fields)
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && field->name().ends_with("_param") &&
        !has(target, *field) && !reads_options(layer.type(), field->name()))
      reflection->ClearField(&layer, field);
}

}  // namespace

std::string fit_layer(caffe::LayerParameter& layer, Target target) {
  drop_unread_options(layer, target);
  if (!has_type(target, layer.type())) return "type";
  if (layer.type() == "Parameter" && layer.bottom_size() > 0) return "bottom";  // repeats the weight, only here
  if (layer.type() == "Normalize" && !layer.has_norm_param()) return "a norm without a scale";
  return fit(layer, target);
}

void fit_net(caffe::NetParameter& net, Target target) {
  const Reflection* reflection = net.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(net, &fields);
  for (const FieldDescriptor* field : fields)
    if (!has(target, *field)) reflection->ClearField(&net, field);
}

}  // namespace cortado::dialect
