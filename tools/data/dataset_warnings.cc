#include "tools/data/dataset_warnings.h"

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/files/file.h"
#include "core/text/text.h"
#include "data/inspect/class_names.h"
#include "layers/registry.h"
#include "layers/roles.h"
#include "tools/output/terminal.h"

namespace cortado::tools {

namespace {

bool names_leveldb(const caffe::LayerParameter& layer) {
  if (!reads_records(layer.type()) || layer.data_param().backend() != caffe::DataParameter::LEVELDB) return false;
  const std::string& source = layer.data_param().source();
  const bool is_lmdb = file_exists(join_path(source, "data.mdb")) || source.ends_with(".mdb");
  return !source.empty() && !is_lmdb;
}

constexpr int64_t kDatasetWarningsLooks = 512;

/// Labels along a set: stretches of one label, one behind the other.
struct ClassStretches {
  std::vector<int32_t> labels;
  int64_t seen = 0;
  bool rises = true, falls = true;

  void add(int32_t label) {
    ++seen;
    if (!labels.empty() && labels.back() == label) return;
    if (!labels.empty()) (label > labels.back() ? falls : rises) = false;
    labels.push_back(label);
  }
  /// In the order of their labels, or each class in one stretch (where so many were seen twice that it says something).
  bool sorted() const {
    const std::set<int32_t> classes(labels.begin(), labels.end());
    const bool apart = classes.size() == labels.size() && int64_t(2 * classes.size()) <= seen;
    return classes.size() > 1 && (rises || falls || apart);
  }
  std::string str() const {
    constexpr size_t kMax = 4;
    std::string text;
    for (size_t i = 0; i < std::min(labels.size(), kMax); ++i) text += (i ? ", then " : "") + std::to_string(labels[i]);
    return text + (labels.size() > kMax ? ", and so on up to " + std::to_string(labels.back()) : "");
  }
};

std::string sight(int64_t seen, int64_t records) {
  return seen == records
             ? "its " + count_text(records) + " records have"
             : "of its " + count_text(records) + " records " + count_text(seen) + " were checked: they have";
}

const data::DataPipeline* pipeline_of(const graph::Node& node) {
  const auto* source = node.layer->roles().records;
  return source ? source->pipeline() : nullptr;
}

std::vector<const graph::Node*> nodes_with_records(const graph::Graph& graph) {
  std::vector<const graph::Node*> nodes;
  for (const graph::Node& node : graph.nodes)
    if (pipeline_of(node)) nodes.push_back(&node);
  return nodes;
}

const std::string& dataset_of(const graph::Node& node) { return pipeline_of(node)->source().path(); }

}  // namespace

std::vector<Diagnostic> sorted_warnings(const graph::Graph& graph) {
  std::vector<Diagnostic> warnings;
  if (graph.phase() != caffe::TRAIN) return warnings;
  for (const graph::Node& node : graph.nodes) {
    const data::DataPipeline* pipeline = pipeline_of(node);
    if (!pipeline || pipeline->shuffles() || node.y.size() < 2) continue;
    if (pipeline->records() <= graph.value(node.y[0]).shape[0]) continue;  // every batch holds them all
    ClassStretches stretches;
    try {
      pipeline->source().visit_labels(kDatasetWarningsLooks,
                                      [&](const data::Record&, int32_t label) { stretches.add(label); });
    } catch (const Error&) {  // what came before the bad record tells enough
      if (graph.options.skip_bad == 0) throw;
    }
    if (!stretches.sorted()) continue;
    const std::string options = find_layer_type(node.type)->options;
    Diagnostic warning;
    warning.place = graph.place(node, options + ".source");
    warning.message = layer_text(node.name, node.type) + " reads " + pipeline->source().path() +
                      " in its order, which is sorted by class: " + sight(stretches.seen, pipeline->records()) +
                      " label " + stretches.str() + ", so a batch holds few classes";
    warning.hint = options + " { shuffle: true } shuffles it";
    warnings.push_back(std::move(warning));
  }
  return warnings;
}

std::vector<Diagnostic> name_mistakes(const graph::Graph& training, const graph::Graph& test) {
  std::vector<Diagnostic> mistakes;
  for (const graph::Node* node : nodes_with_records(test))
    for (const graph::Node* other : nodes_with_records(training)) {
      const std::string conflict = data::names_conflict(dataset_of(*other), dataset_of(*node));
      if (conflict.empty()) continue;
      Diagnostic mistake;
      mistake.place = test.place(*node, find_layer_type(node->type)->options + ".source");
      mistake.message = layer_text(node->name, node->type) + " tests with other classes than are trained: " + conflict;
      mistake.hint = "make both datasets with one list of classes";
      mistakes.push_back(std::move(mistake));
    }
  return mistakes;
}

std::vector<Diagnostic> leveldb_warnings(const graph::Graph& graph) {
  std::vector<Diagnostic> warnings;
  for (size_t i = 0; i < graph.layers.size(); ++i) {
    const caffe::LayerParameter& layer = *graph.layers[i].config;
    if (!names_leveldb(layer)) continue;
    const std::string field = layer.data_param().has_backend() ? "data_param.backend" : "data_param.source";
    Diagnostic warning;
    warning.place = graph.place_of_layer(int(i), field);
    warning.message =
        layer_text(layer.name(), layer.type()) + ": " +
        (layer.data_param().has_backend() ? "the backend is LevelDB" : "without `backend` this is a LevelDB") +
        ", and only LMDB is read";
    warning.hint = "`cortado convert leveldb` makes an LMDB of it; where '" + layer.data_param().source() +
                   "' holds a data.mdb, that is read whatever `backend` says";
    warnings.push_back(std::move(warning));
  }
  return warnings;
}

}  // namespace cortado::tools
