#include "graph/phases.h"

#include <algorithm>
#include <set>
#include <string>

#include "core/text/text.h"
#include "graph/graph.h"
#include "layers/registry.h"
#include "proto/text/positions.h"

namespace cortado::graph {

namespace {

/// A net in one phase, by names of blobs.
struct Phase {
  int layers = 0;
  std::set<int> sources;           ///< layers without bottoms: data, Input
  std::set<std::string> supplies;  ///< tops of the sources
  std::set<std::string> missing;   ///< read before a layer writes it
};

Phase phase_of(const caffe::NetParameter& net, const caffe::NetState& state) {
  Phase phase;
  std::set<std::string> made;
  for (int i = 0; i < net.layer_size(); ++i) {
    const caffe::LayerParameter& layer = net.layer(i);
    if (!selected(layer, state)) continue;
    ++phase.layers;
    for (const std::string& bottom : layer.bottom())
      if (!made.contains(bottom)) phase.missing.insert(bottom);
    made.insert(layer.top().begin(), layer.top().end());
    if (layer.bottom_size() > 0 || layer.top_size() == 0 || kind_of(layer.type()) == LayerKind::kConstant) continue;
    phase.sources.insert(i);
    phase.supplies.insert(layer.top().begin(), layer.top().end());
  }
  return phase;
}

/// Whether `one` cannot run because its data layers exist only in `other`.
bool has_no_data(const Phase& one, const Phase& other) {
  return std::includes(other.sources.begin(), other.sources.end(), one.sources.begin(), one.sources.end()) &&
         std::any_of(one.missing.begin(), one.missing.end(),
                     [&other](const std::string& blob) { return other.supplies.contains(blob); });
}

}  // namespace

std::vector<caffe::Phase> phases_with_data(const caffe::NetParameter& net, const caffe::NetState& state) {
  caffe::NetState merged = merge_states(net.state(), state);
  merged.set_phase(caffe::TRAIN);
  const Phase train = phase_of(net, merged);
  merged.set_phase(caffe::TEST);
  const Phase test = phase_of(net, merged);
  std::vector<caffe::Phase> phases;
  if (train.layers > 0 && !has_no_data(train, test)) phases.push_back(caffe::TRAIN);
  if (test.layers > 0 && !has_no_data(test, train)) phases.push_back(caffe::TEST);
  if (phases.empty()) phases.push_back(caffe::TEST);
  return phases;
}

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// The path of the field below `message` whose value is `file`; "" if there is none.
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
        if (text == file && !prefix.empty()) found = path;  // the layer's own name is not a file
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

std::vector<Diagnostic> with_names_of_files(std::vector<Diagnostic> mistakes, const Graph& graph, int source) {
  const caffe::LayerParameter& config = *graph.source(source).config;
  for (Diagnostic& mistake : mistakes) {
    if (!mistake.place.known()) continue;
    const std::string field = field_naming(config, mistake.place.file);
    if (!field.empty())
      mistake.notes.push_back({graph.place_of_layer(source, field), layer_text(config.name()) + " names it here"});
  }
  return mistakes;
}

}  // namespace cortado::graph
