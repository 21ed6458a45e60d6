#include "tools/output/finding.h"

#include <algorithm>
#include <map>

#include "core/text/text.h"
#include "data/formats/text.h"
#include "data/pipeline/pipeline.h"
#include "data/record.h"
#include "data/sample.h"
#include "layers/common/losses/class_labels.h"
#include "net/inputs.h"
#include "tools/output/terminal.h"

namespace cortado::tools {

namespace {

using nlohmann::ordered_json;

ordered_json place_json(const Place& place) {
  ordered_json json = {{"file", place.file}};
  if (place.line > 0) json["line"] = place.line;
  if (place.column > 0) json["column"] = place.column;
  return json;
}

ordered_json diagnostic_json(const Diagnostic& diagnostic) {
  ordered_json one = place_json(diagnostic.place);
  one["message"] = diagnostic.message;
  one["hint"] = diagnostic.hint;
  for (const Note& note : diagnostic.notes) {
    ordered_json json = place_json(note.place);
    json["message"] = note.message;
    one["notes"].push_back(json);
  }
  return one;
}

}  // namespace

void Finding::add(ExitCode found, const std::vector<Diagnostic>& list) {
  if (code == ExitCode::kOk || found == ExitCode::kNet) code = found;
  for (const Diagnostic& diagnostic : list) {
    const auto [entry, fresh] = reported_.try_emplace(render(diagnostic), Reported{errors.size(), {}});
    if (fresh) errors.push_back(diagnostic);
    if (phase_) entry->second.phases.insert(*phase_);
  }
}

void Finding::enter(caffe::Phase phase) {
  phase_ = phase;
  phases_.insert(phase);
}

void Finding::name_phases() {
  phase_.reset();
  for (const auto& [text, entry] : reported_) {
    std::string& message = errors[entry.index].message;
    if (phases_.size() < 2 || entry.phases.size() != 1 || message.find(" phase ") != std::string::npos) continue;
    message += " (in phase " + caffe::Phase_Name(*entry.phases.begin()) + ")";
  }
}

void Finding::forgive_unused_phase() {
  std::set<caffe::Phase> failed;
  for (const auto& [text, entry] : reported_) {
    if (entry.phases.empty() || !errors[entry.index].lacks_blob) return;
    failed.insert(entry.phases.begin(), entry.phases.end());
  }
  if (failed.size() == phases_.size()) return;
  warn(errors);
  errors.clear();
  reported_.clear();
  code = ExitCode::kOk;
}

void Finding::warn(const std::vector<Diagnostic>& list) {
  for (const Diagnostic& warning : list)
    if (warned_.insert(render(warning)).second) warnings.push_back(warning);
}

std::string summary_of(const Finding& finding) {
  std::string text = std::to_string(finding.nets) + (finding.nets == 1 ? " net" : " nets");
  if (finding.kind == "net" && finding.phases().size() == 1)
    text += " (phase " + caffe::Phase_Name(*finding.phases().begin()) + ")";
  text += ", " + std::to_string(finding.layers) + " layers";
  if (finding.params > 0) text += ", " + count_text(finding.params) + " params";
  if (finding.train_bytes > 0) text += ", " + bytes_text(finding.train_bytes) + " train memory";
  std::set<std::string> sources;
  for (const LabelsSeen& labels : finding.labels)
    if (labels.seen < labels.records && sources.insert(labels.source).second)
      text += ", labels of " + count_text(labels.seen) + " of the " + count_text(labels.records) + " records of " +
              labels.source;
  return text;
}

ordered_json to_json(const Finding& finding) {
  ordered_json json = {{"file", finding.path},
                       {"kind", finding.kind},
                       {"ok", finding.errors.empty()},
                       {"nets", finding.nets},
                       {"phases", ordered_json::array()},
                       {"layers", finding.layers},
                       {"params", finding.params},
                       {"train_memory_bytes", finding.train_bytes},
                       {"labels", ordered_json::array()},
                       {"mistakes", ordered_json::array()},
                       {"warnings", ordered_json::array()}};
  for (const caffe::Phase phase : finding.phases()) json["phases"].push_back(caffe::Phase_Name(phase));
  for (const LabelsSeen& labels : finding.labels)
    json["labels"].push_back({{"source", labels.source}, {"records", labels.records}, {"seen", labels.seen}});
  for (const Diagnostic& diagnostic : finding.errors) json["mistakes"].push_back(diagnostic_json(diagnostic));
  for (const Diagnostic& warning : finding.warnings) json["warnings"].push_back(diagnostic_json(warning));
  return json;
}

namespace {

constexpr int64_t kMaxWhole = 100000, kLabelCheckLooks = 4096;

/// A layer that uses labels as classes, and the labels of a dataset that are out of its range.
struct LabelCheckReader {
  const graph::Node* node;
  ClassLabels wanted;
  int64_t bad = 0;
  std::string first_key{};
  data::Label first = 0, least = 0, most = 0;

  void look(const data::Record& record, data::Label label) {
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

/// The readers of each data layer. Of several that need the same classes of one dataset, only the first.
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

Diagnostic label_error(const graph::Graph& graph, const LabelCheckReader& reader, const LabelsSeen& seen) {
  Diagnostic diagnostic;
  diagnostic.place = graph.place(*reader.node);
  const bool sampled = seen.seen != seen.records;
  diagnostic.message =
      layer_text(reader.node->name, reader.node->type) + " has " + count_of(reader.wanted.classes, "class", "classes") +
      ", but " + count_text(reader.bad) + " of " + count_text(seen.seen) + (sampled ? " sampled" : "") +
      " records of " + seen.source + (sampled ? " (" + count_text(seen.records) + " in all)" : "") +
      (reader.bad == 1 ? " has a label" : " have labels") + " out of range, " + data::label_text(reader.least) +
      (reader.least == reader.most ? "" : " to " + data::label_text(reader.most)) + ": the first is record '" +
      reader.first_key + "' with label " + data::label_text(reader.first);
  diagnostic.hint = "labels are whole numbers from 0 to " + std::to_string(reader.wanted.classes - 1);
  if (!data::is_class(reader.first))
    diagnostic.hint += "; for other labels use a loss of regression, such as EuclideanLoss";
  else if (reader.least >= 0)
    diagnostic.hint +=
        "; set num_output of the layer before to " + std::to_string(int64_t(reader.most) + 1) + " to include these";
  else
    diagnostic.hint += "; ignore_label skips one value";
  return diagnostic;
}

}  // namespace

std::vector<Diagnostic> label_errors(const graph::Graph& graph, std::vector<LabelsSeen>& seen) {
  std::vector<Diagnostic> errors;
  for (auto& [node, of_node] : readers_of(graph)) {
    std::vector<LabelCheckReader>& readers = of_node;  // a lambda cannot capture a structured binding
    const data::DataPipeline& pipeline = *node->layer->roles().records->pipeline();
    LabelsSeen looked{pipeline.source().path(), pipeline.records(), 0};
    pipeline.source().visit_labels(looked.records <= kMaxWhole ? kMaxWhole : kLabelCheckLooks,
                                   [&](const data::Record& record, data::Label label) {
                                     ++looked.seen;
                                     for (LabelCheckReader& reader : readers) reader.look(record, label);
                                   });
    if (looked.seen == 0) continue;
    for (const LabelCheckReader& reader : readers)
      if (reader.bad > 0) errors.push_back(label_error(graph, reader, looked));
    seen.push_back(std::move(looked));
  }
  return errors;
}

}  // namespace cortado::tools
