// `cortado layers`: the layer types of this build, from their registrations; of one type, its options with their
// defaults, from the schema.
#include <google/protobuf/descriptor.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "layers/registry.h"
#include "proto/cortado.pb.h"
#include "tools/command.h"
#include "tools/run_options.h"
#include "tools/terminal.h"

namespace cortado::tools {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using nlohmann::ordered_json;

/// The message that holds a type's options, or null.
const Descriptor* options_of(const LayerType& type) {
  const FieldDescriptor* field = caffe::LayerParameter::descriptor()->FindFieldByName(type.options);
  return field ? field->message_type() : nullptr;
}

std::string type_of(const FieldDescriptor& field) {
  std::string name = field.type_name();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) name = field.message_type()->name();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
    name.clear();
    for (int i = 0; i < field.enum_type()->value_count(); ++i)
      name += (i ? "|" : "") + field.enum_type()->value(i)->name();
  }
  return field.is_repeated() ? name + "..." : name;
}

std::string number_text(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

std::string default_of(const FieldDescriptor& field) {
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
      return number_text(field.default_value_float());
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return number_text(field.default_value_double());
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

std::string range(int least, int most) {
  if (most < 0) return std::to_string(least) + " or more";
  return least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
}

ordered_json to_json(const LayerType& type) {
  const auto limit = [](int most) { return most < 0 ? ordered_json() : ordered_json(most); };
  ordered_json json = {{"type", type.name},
                       {"help", type.help},
                       {"options", type.options},
                       {"bottoms", {type.least_x, limit(type.most_x)}},
                       {"tops", {type.least_y, limit(type.most_y)}},
                       {"fields", ordered_json::array()}};
  if (const Descriptor* options = options_of(type))
    for (int i = 0; i < options->field_count(); ++i)
      json["fields"].push_back({{"name", options->field(i)->name()},
                                {"type", type_of(*options->field(i))},
                                {"default", default_of(*options->field(i))}});
  return json;
}

void show_type(const LayerType& type) {
  std::cout << type.name << ": " << wrapped(type.help, type.name.size() + 2) << "\n"
            << "bottoms " << range(type.least_x, type.most_x) << ", tops " << range(type.least_y, type.most_y) << "\n";
  const Descriptor* options = options_of(type);
  if (!options) {
    std::cout << "no options\n";
    return;
  }
  std::cout << "\n" << type.options << " {\n";
  Table table({"  field", "type", "default"});
  for (int i = 0; i < options->field_count(); ++i)
    table.add({"  " + options->field(i)->name(), type_of(*options->field(i)), default_of(*options->field(i))});
  std::cout << table.str() << "}\n";
}

void show_all(bool as_json) {
  if (as_json) {
    ordered_json all = ordered_json::array();
    for (const LayerType* type : all_layer_types()) all.push_back(to_json(*type));
    std::cout << all.dump(2) << "\n";
    return;
  }
  Table table({"type", "bottoms", "tops", "what it does"});
  for (const LayerType* type : all_layer_types())
    table.add({type->name, range(type->least_x, type->most_x), range(type->least_y, type->most_y), type->help});
  std::cout << table.str() << "'cortado layers TYPE' shows a type's options\n";
}

int run_layers(const Arguments& arguments) {
  const bool as_json = arguments.on("json");
  if (arguments.operands().empty()) {
    show_all(as_json);
    return 0;
  }
  const std::string& name = arguments.operands()[0];
  const LayerType* type = find_layer_type(name);
  if (!type) {
    std::vector<std::string> names;
    for (const LayerType* known : all_layer_types()) names.push_back(known->name);
    throw usage_error("no layer type is called '" + name + "'", did_you_mean(name, names));
  }
  if (as_json)
    std::cout << to_json(*type).dump(2) << "\n";
  else
    show_type(*type);
  return 0;
}

}  // namespace

Command layers_command() {
  return {.name = "layers",
          .summary = "lists the layer types, or one type's options",
          .flags = {json_flag()},
          .operands = {"TYPE", "a layer type as prototxt spells it", 0, 1},
          .examples = {{"cortado layers", "every type in one line each"},
                       {"cortado layers Convolution", "the fields of convolution_param with their defaults"}},
          .run = run_layers};
}

}  // namespace cortado::tools
