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

/// The labels of a set in order, with equal successive labels as one stretch.
struct ClassStretches {
  std::vector<data::Label> labels;
  int64_t seen = 0;
  bool rises = true, falls = true;

  void add(data::Label label) {
    ++seen;
    if (!labels.empty() && labels.back() == label) return;
    if (!labels.empty()) (label > labels.back() ? falls : rises) = false;
    labels.push_back(label);
  }
  /// Whether labels rise or fall, or each class is one stretch. The latter counts only if there are enough records for
  /// each class.
  bool sorted() const {
    const std::set<data::Label> classes(labels.begin(), labels.end());
    const bool apart = classes.size() == labels.size() && int64_t(2 * classes.size()) <= seen;
    return classes.size() > 1 && (rises || falls || apart);
  }
  std::string str() const {
    constexpr size_t kMax = 4;
    std::string text;
    for (size_t i = 0; i < std::min(labels.size(), kMax); ++i)
      text += (i ? ", then " : "") + data::label_text(labels[i]);
    return text + (labels.size() > kMax ? ", and so on up to " + data::label_text(labels.back()) : "");
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
    if (pipeline->records() <= graph.value(node.y[0]).shape[0]) continue;  // each batch contains all records
    ClassStretches stretches;
    try {
      pipeline->source().visit_labels(kDatasetWarningsLooks,
                                      [&](const data::Record&, data::Label label) { stretches.add(label); });
    } catch (const Error&) {  // the labels before the bad record are enough
      if (graph.options.skip_bad == 0) throw;
    }
    if (!stretches.sorted()) continue;
    const std::string options = find_layer_type(node.type)->options;
    Diagnostic warning;
    warning.place = graph.place(node, options + ".source");
    warning.message = layer_text(node.name, node.type) + " reads " + pipeline->source().path() +
                      " in order, but the set is sorted by class: " + sight(stretches.seen, pipeline->records()) +
                      " label " + stretches.str() + ", so a batch holds few classes";
    warning.hint = "set " + options + " { shuffle: true }";
    warnings.push_back(std::move(warning));
  }
  return warnings;
}

std::vector<Diagnostic> conflicting_name_errors(const graph::Graph& training, const graph::Graph& test) {
  std::vector<Diagnostic> errors;
  for (const graph::Node* node : nodes_with_records(test))
    for (const graph::Node* other : nodes_with_records(training)) {
      const std::string conflict = data::names_conflict(dataset_of(*other), dataset_of(*node));
      if (conflict.empty()) continue;
      Diagnostic error;
      error.place = test.place(*node, find_layer_type(node->type)->options + ".source");
      error.message =
          layer_text(node->name, node->type) + " tests with other classes than the training net: " + conflict;
      error.hint = "convert both datasets with the same list of classes";
      errors.push_back(std::move(error));
    }
  return errors;
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
        ", but only LMDB is supported";
    warning.hint = "convert it with `cortado convert leveldb`; if '" + layer.data_param().source() +
                   "' contains data.mdb, it is read whatever `backend` is";
    warnings.push_back(std::move(warning));
  }
  return warnings;
}

}  // namespace cortado::tools
