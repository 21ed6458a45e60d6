// docs/layers.md, generated from the registrations of layers and the comments of the schema. A test compares the page
// with this output.
#include "tools/net/layers_page.h"

#include <algorithm>

#include "proto/cortado.pb.h"
#include "proto/text/field_help.h"
#include "tools/output/field_list.h"

namespace cortado::tools {

namespace {

using google::protobuf::Descriptor;

constexpr char kOpening[] =
    "# Layers\n\n"
    "Made by `cortado layers --markdown` from the code and `proto/cortado.proto`; edit it there. `cortado layers TYPE` "
    "shows the\n"
    "same in a terminal. A type's options are in the message named next to it; `...` marks fields that may be given "
    "more than\n"
    "once. Losses also take `loss_param`, layers that read data `transform_param`.\n\n";

/// Escapes Markdown's special characters for tables.
std::string markdown_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : c == '<' ? "&lt;" : c == '*' ? "\\*" : std::string(1, c);
  return out;
}

std::string anchor(const std::string& heading) {
  std::string out = heading;
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = char(c + 32);
  return "#" + out;
}

/// The type of a field, linked to its section if the page has one.
std::string type_cell(const FieldRow& row) {
  const bool repeated = row.type.ends_with("...");
  const std::string name = repeated ? row.type.substr(0, row.type.size() - 3) : row.type;
  return (schema_message(name) ? "[" + name + "](" + anchor(name) + ")" : name) + (repeated ? "..." : "");
}

std::string field_table(const Descriptor& message, bool without_options = false) {
  std::string out = "| field | type | default | |\n|---|---|---|---|\n";
  for (const FieldRow& row : field_rows(message)) {
    if (without_options && row.name.ends_with("_param")) continue;
    out += "| `" + row.name + "` | " + type_cell(row) + " | " + (row.fallback.empty() ? "" : "`" + row.fallback + "`") +
           " | " + markdown_escaped(row.help) + " |\n";
  }
  return out + "\n";
}

std::string list_of_types() {
  std::string out = "| type | |\n|---|---|\n";
  for (const LayerType* type : all_layer_types())
    out += "| [" + type->name + "](" + anchor(type->name) + ") | " + markdown_escaped(type->help) + " |\n";
  return out + "\n";
}

std::string section_of(const LayerType& type) {
  std::string out = "## " + type.name + "\n\n" + markdown_escaped(type.help) + ".\n\nbottoms " +
                    range_text(type.min_bottoms, type.max_bottoms) + ", tops " +
                    range_text(type.min_tops, type.max_tops);
  const Descriptor* options = options_of(type);
  if (!options) return out + ", no options\n\n";
  return out + ", options in `" + type.options + "`\n\n" + field_table(*options);
}

/// Messages that options contain, and those that all layers take, each once, sorted by name.
std::vector<const Descriptor*> shared_messages() {
  std::vector<const Descriptor*> shared;
  const auto add_all = [&shared](const Descriptor& message) {
    for (const Descriptor* inner : messages_below(message)) shared.push_back(inner);
  };
  for (const LayerType* type : all_layer_types())
    if (const Descriptor* options = options_of(*type)) add_all(*options);
  std::vector<const Descriptor*> of_every_layer = {caffe::LossParameter::descriptor(),
                                                   caffe::TransformationParameter::descriptor()};
  const Descriptor& layer = *caffe::LayerParameter::descriptor();
  for (int i = 0; i < layer.field_count(); ++i)
    if (layer.field(i)->message_type() && !layer.field(i)->name().ends_with("_param"))
      of_every_layer.push_back(layer.field(i)->message_type());
  for (const Descriptor* message : of_every_layer) {
    shared.push_back(message);
    add_all(*message);
  }
  std::sort(shared.begin(), shared.end(), [](const auto* a, const auto* b) { return a->name() < b->name(); });
  shared.erase(std::unique(shared.begin(), shared.end()), shared.end());
  return shared;
}

}  // namespace

const Descriptor* options_of(const LayerType& type) {
  const auto* field = caffe::LayerParameter::descriptor()->FindFieldByName(type.options);
  return field ? field->message_type() : nullptr;
}

std::string range_text(int least, int most) {
  if (most < 0) return std::to_string(least) + " or more";
  return least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
}

std::string layers_page() {
  std::string out = kOpening + list_of_types();
  for (const LayerType* type : all_layer_types()) out += section_of(*type);
  out +=
      "# Fields of all layers\n\n" + field_table(*caffe::LayerParameter::descriptor(), true) + "# Shared messages\n\n";
  for (const Descriptor* message : shared_messages())
    out += "## " + message->name() + "\n\n" + markdown_escaped(help_of(*message)) + "\n\n" + field_table(*message);
  out.pop_back();
  return out;
}

}  // namespace cortado::tools
