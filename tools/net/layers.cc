// `cortado layers`: the layer types of this build, from their registrations, and the options of a type, from the schema
// and its comments. --markdown writes docs/layers.md.
#include <iostream>
#include <nlohmann/json.hpp>

#include "layers/registry.h"
#include "proto/cortado.pb.h"
#include "proto/text/field_help.h"
#include "tools/net/layers_page.h"
#include "tools/options/run_options.h"
#include "tools/output/field_list.h"
#include "tools/output/terminal.h"
#include "tools/program/command.h"

namespace cortado::tools {

namespace {

using google::protobuf::Descriptor;
using nlohmann::ordered_json;

ordered_json fields_json(const Descriptor& message) {
  ordered_json fields = ordered_json::array();
  for (const FieldRow& row : field_rows(message))
    fields.push_back({{"name", row.name}, {"type", row.type}, {"default", row.fallback}, {"help", row.help}});
  return fields;
}

ordered_json layer_type_json(const LayerType& type) {
  const auto limit = [](int most) { return most < 0 ? ordered_json() : ordered_json(most); };
  ordered_json json = {{"type", type.name},
                       {"help", type.help},
                       {"options", type.options},
                       {"bottoms", {type.min_bottoms, limit(type.max_bottoms)}},
                       {"tops", {type.min_tops, limit(type.max_tops)}},
                       {"fields", ordered_json::array()}};
  if (const Descriptor* options = options_of(type)) json["fields"] = fields_json(*options);
  return json;
}

void show_fields(const std::string& opening, const Descriptor& message) {
  constexpr size_t kIndent = 6;
  Table table({"  " + opening, "", ""});
  const std::vector<FieldRow> rows = field_rows(message);
  for (const FieldRow& row : rows) table.add({"  " + row.name, row.type, row.fallback});
  const std::vector<std::string> lines = split(table.str(), '\n');
  std::cout << "\n" << opening << " {\n";
  for (size_t i = 0; i < rows.size(); ++i) {
    std::cout << lines[i + 1] << "\n";
    if (!rows[i].help.empty()) std::cout << std::string(kIndent, ' ') << wrapped(rows[i].help, kIndent) << "\n";
  }
  std::cout << "}\n";
}

void show_messages_below(const Descriptor& message) {
  std::string names;
  for (const Descriptor* inner : messages_below(message)) names += (names.empty() ? "" : ", ") + inner->name();
  if (!names.empty()) std::cout << wrapped("'cortado layers NAME' describes " + names, 0) << "\n";
}

void show_type(const LayerType& type) {
  std::cout << type.name << ": " << wrapped(type.help, type.name.size() + 2) << "\n"
            << "bottoms " << range_text(type.min_bottoms, type.max_bottoms) << ", tops "
            << range_text(type.min_tops, type.max_tops) << "\n";
  const Descriptor* options = options_of(type);
  if (!options) {
    std::cout << "no options\n";
    return;
  }
  show_fields(type.options, *options);
  show_messages_below(*options);
}

void show_message(const Descriptor& message, bool as_json) {
  if (as_json) {
    const ordered_json json = {
        {"message", message.name()}, {"help", help_of(message)}, {"fields", fields_json(message)}};
    std::cout << json.dump(2) << "\n";
    return;
  }
  std::cout << message.name() << ": " << wrapped(help_of(message), message.name().size() + 2) << "\n";
  show_fields(message.name(), message);
  show_messages_below(message);
}

void show_all(bool as_json) {
  if (as_json) {
    ordered_json all = ordered_json::array();
    for (const LayerType* type : all_layer_types()) all.push_back(layer_type_json(*type));
    std::cout << all.dump(2) << "\n";
    return;
  }
  Table table({"type", "bottoms", "tops", "description"});
  for (const LayerType* type : all_layer_types())
    table.add({type->name, range_text(type->min_bottoms, type->max_bottoms), range_text(type->min_tops, type->max_tops),
               type->help});
  std::cout << table.str() << "'cortado layers TYPE' shows a type's options\n";
}

int run_layers(const Arguments& arguments) {
  const bool as_json = arguments.on("json");
  if (arguments.on("markdown")) {
    if (as_json || !arguments.operands().empty()) throw usage_error("--markdown excludes --json and TYPE");
    std::cout << layers_page();
    return 0;
  }
  if (arguments.operands().empty()) {
    show_all(as_json);
    return 0;
  }
  const std::string& name = arguments.operands()[0];
  const LayerType* type = find_layer_type(name);
  if (!type) {
    if (const Descriptor* message = schema_message(name)) {
      show_message(*message, as_json);
      return 0;
    }
    std::vector<std::string> names = schema_messages();
    for (const LayerType* known : all_layer_types()) names.push_back(known->name);
    throw usage_error("unknown layer type '" + name + "'", did_you_mean(name, names));
  }
  if (as_json)
    std::cout << layer_type_json(*type).dump(2) << "\n";
  else
    show_type(*type);
  return 0;
}

}  // namespace

Command layers_command() {
  return {.name = "layers",
          .summary = "List the layer types, or describe one",
          .flags = {json_flag(), {.name = "markdown", .help = "as a page of the documentation"}},
          .operands = {"TYPE", "a layer type, or a message of the schema", 0, 1},
          .examples = {{"cortado layers", "every type in a line"},
                       {"cortado layers Convolution", "the fields of convolution_param, their defaults and meaning"},
                       {"cortado layers FillerParameter", "the same for any message"},
                       {"cortado layers SolverParameter", "the fields of a solver"}},
          .run = run_layers};
}

}  // namespace cortado::tools
