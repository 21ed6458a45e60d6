#include "graph/layer_mistake.h"

#include "core/field_text.h"
#include "core/text/text.h"

namespace cortado::graph {

namespace {

/// `source`: -1 for a layer that no file has.
Diagnostic mistake_of(const Graph& graph, int source, const std::string& label, const FieldError& error,
                      std::vector<Note> notes) {
  if (source < 0) return {{}, label + ": " + with_field(error), error.hint(), std::move(notes)};
  const auto is_known = [&](const std::string& field) {
    return graph.file->positions.known(graph.source(source).path + "." + field);
  };
  const std::string &field = error.field(), first = field + "[0]";  // of a list that is wrong as a whole
  return {graph.place_of_layer(source, is_known(first) ? first : field),
          label + ": " + (is_known(field) ? error.message() : with_field(error)), error.hint(), std::move(notes)};
}

}  // namespace

Diagnostic layer_mistake(const Graph& graph, int source, const FieldError& error, std::vector<Note> notes) {
  const caffe::LayerParameter& config = *graph.source(source).config;
  return mistake_of(graph, source, layer_text(config.name(), config.type()), error, std::move(notes));
}

Diagnostic layer_mistake(const Graph& graph, const Node& node, const FieldError& error, std::vector<Note> notes) {
  return mistake_of(graph, node.sources.empty() ? -1 : node.sources[0], layer_text(node.name, node.type), error,
                    std::move(notes));
}

}  // namespace cortado::graph
