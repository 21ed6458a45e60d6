#include "graph/named_file.h"

#include "core/text/text.h"
#include "proto/text/positions.h"

namespace cortado::graph {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// The path of the field below `message` whose text is `file`; "" where there is none.
std::string field_naming(const Message& message, const std::string& file, const std::string& prefix = {}) {
  const auto* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool list = field->is_repeated();
    for (int i = 0; i < (list ? reflection->FieldSize(message, field) : 1); ++i) {
      const std::string path = path_to(prefix, field->name(), list ? i : -1);
      std::string found;
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
        const std::string text =
            list ? reflection->GetRepeatedString(message, field, i) : reflection->GetString(message, field);
        if (text == file && !prefix.empty()) found = path;  // a layer's name is no file's
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        found = field_naming(
            list ? reflection->GetRepeatedMessage(message, field, i) : reflection->GetMessage(message, field), file,
            path);
      }
      if (!found.empty()) return found;
    }
  }
  return {};
}

}  // namespace

std::vector<Mistake> with_names_of_files(std::vector<Mistake> mistakes, const Graph& graph, int source) {
  const caffe::LayerParameter& config = *graph.source(source).config;
  for (Mistake& mistake : mistakes) {
    if (!mistake.place.known()) continue;
    const std::string field = field_naming(config, mistake.place.file);
    if (!field.empty())
      mistake.notes.push_back({graph.place_of_layer(source, field), layer_text(config.name()) + " names it here"});
  }
  return mistakes;
}

}  // namespace cortado::graph
