#include "tools/output/label_check.h"

#include <algorithm>
#include <map>

#include "core/text/format.h"
#include "core/text/text.h"
#include "data/formats/printable.h"
#include "layers/common/losses/class_labels.h"
#include "net/label_origin.h"
#include "tools/output/terminal.h"

namespace cortado::tools {

namespace {

constexpr int64_t kMaxWhole = 100000, kLabelCheckLooks = 4096;

/// A layer that takes a set's labels for classes, and the labels that are not classes.
struct LabelCheckReader {
  const graph::Node* node;
  ClassLabels wanted;
  int64_t bad = 0;
  std::string first_key{};
  int32_t first = 0, least = 0, most = 0;

  void look(const data::Record& record, int32_t label) {
    const float value = float(label);
    ClassLabels one = wanted;
    one.values = &value;
    if (!one.counts(0) || one.valid(0)) return;
    if (bad++ == 0) {
      first_key = data::printable(record.key);
      first = least = most = label;
    }
    least = std::min(least, label);
    most = std::max(most, label);
  }
};

/// By the data layer; of several that want the same of one set, the first.
std::map<const graph::Node*, std::vector<LabelCheckReader>> readers_of(const graph::Graph& graph) {
  std::map<const graph::Node*, std::vector<LabelCheckReader>> readers;
  for (const graph::Node& node : graph.nodes) {
    const auto* reads = node.layer->roles().classes;
    const std::optional<ClassLabels> wanted = reads && node.x.size() > 1 ? reads->class_labels() : std::nullopt;
    if (!wanted) continue;
    const std::optional<LabelOrigin> origin = origin_of(graph, node.x[1]);
    if (!origin || origin->output != 1 || !origin->source->pipeline()) continue;
    std::vector<LabelCheckReader>& list = readers[origin->node];
    const bool known = std::any_of(list.begin(), list.end(), [&](const LabelCheckReader& other) {
      return other.wanted.classes == wanted->classes && other.wanted.ignores == wanted->ignores &&
             other.wanted.ignored == wanted->ignored;
    });
    if (!known) list.push_back({&node, *wanted});
  }
  return readers;
}

Mistake mistake_of(const graph::Graph& graph, const LabelCheckReader& reader, const LabelsSeen& seen) {
  Mistake mistake;
  mistake.place = graph.place(*reader.node);
  const std::string sample = seen.seen == seen.records ? "" : " looked at, of " + count_text(seen.records);
  mistake.message = layer_text(reader.node->name, reader.node->type) + " has " +
                    count_of(reader.wanted.classes, "class", "classes") + ", and of " + count_text(seen.seen) +
                    " records of " + seen.source + sample + ", " + count_text(reader.bad) +
                    (reader.bad == 1 ? " has a label" : " have labels") + " that " + (reader.bad == 1 ? "is" : "are") +
                    " none of them, " + std::to_string(reader.least) +
                    (reader.least == reader.most ? "" : " to " + std::to_string(reader.most)) +
                    ": the first is record '" + reader.first_key + "' with " + std::to_string(reader.first);
  mistake.hint = "labels are whole numbers from 0 to " + std::to_string(reader.wanted.classes - 1);
  if (reader.least >= 0)
    mistake.hint += "; for these the layer before needs num_output: " + std::to_string(int64_t(reader.most) + 1);
  else
    mistake.hint += "; ignore_label skips one value";
  return mistake;
}

}  // namespace

std::vector<Mistake> label_mistakes(const graph::Graph& graph, std::vector<LabelsSeen>& seen) {
  std::vector<Mistake> mistakes;
  for (auto& [node, of_node] : readers_of(graph)) {
    std::vector<LabelCheckReader>& readers = of_node;  // a lambda cannot take what a binding names
    const data::DataPipeline& pipeline = *node->layer->roles().records->pipeline();
    LabelsSeen looked{pipeline.source().path(), pipeline.records(), 0};
    pipeline.source().visit_labels(looked.records <= kMaxWhole ? kMaxWhole : kLabelCheckLooks,
                                   [&](const data::Record& record, int32_t label) {
                                     ++looked.seen;
                                     for (LabelCheckReader& reader : readers) reader.look(record, label);
                                   });
    if (looked.seen == 0) continue;
    for (const LabelCheckReader& reader : readers)
      if (reader.bad > 0) mistakes.push_back(mistake_of(graph, reader, looked));
    seen.push_back(std::move(looked));
  }
  return mistakes;
}

}  // namespace cortado::tools
