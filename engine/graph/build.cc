// Builds the graph of a net's message: selects layers by state, creates them through the registry, connects their
// names.

#include <algorithm>
#include <optional>

#include "core/text/text.h"
#include "graph/blob_index.h"
#include "graph/freeze.h"
#include "graph/graph.h"
#include "graph/layer_mistake.h"
#include "graph/partial_net.h"
#include "graph/phases.h"
#include "layers/registry.h"

namespace cortado::graph {

namespace {

using caffe::LayerParameter;

class Builder {
 public:
  Builder(std::shared_ptr<const NetFile> file, const BuildOptions& options) : given_(file), draft_(*file) {
    graph_.file = with_frozen_averages(std::move(file), options.freeze);
    graph_.options = options;
    graph_.name = net().name();
    caffe::NetState base;
    if (options.state.has_phase()) base.set_phase(options.state.phase());
    base.MergeFrom(net().state());
    graph_.state = merge_states(base, options.state);
  }

  Graph run() {
    connect();
    found_.throw_if_any(code_);
    index_readers(graph_);
    mark_kept();
    return std::move(graph_);
  }

  NetMistakes find_mistakes() {
    connect();
    return std::move(found_);
  }

 private:
  const caffe::NetParameter& net() const { return graph_.file->net; }

  void connect() {
    select_layers();
    for (size_t i = 0; i < graph_.layers.size(); ++i) add_node(int(i));
    draft_.add_text(found_);
  }

  void complain(int source, const std::string& field, std::string message, std::string hint = {},
                std::vector<Note> notes = {}) {
    code_ = ExitCode::kNet;
    found_.rest.push_back(
        {graph_.place_of_layer(source, field), std::move(message), std::move(hint), std::move(notes)});
  }

  static std::string label(const LayerParameter& config) { return layer_text(config.name(), config.type()); }

  void select_layers() {
    size_t number = 0;
    for (int i = 0; i < net().layer_size(); ++i) {
      const LayerParameter& config = net().layer(i);
      const std::string path = "layer[" + std::to_string(i) + "]";
      if (config.include_size() > 0 && config.exclude_size() > 0) {
        found_.rest.push_back({graph_.file->positions.place(path + ".exclude[0]"),
                               label(config) + " has both include and exclude rules",
                               "keep one kind",
                               {}});
        continue;
      }
      if (!selected(config, graph_.state)) continue;
      if (number++ < graph_.options.first_layers || kind_of(config.type()) == LayerKind::kInput)
        graph_.layers.push_back({&config, path, {}});
      else
        graph_.cut_before_loss |= has_loss(config);
    }
    if (graph_.layers.empty() && found_.rest.empty())
      found_.rest.push_back({graph_.file->positions.place("name"),
                             net().layer_size() == 0
                                 ? "the net has no layers"
                                 : "the net has no layer in phase " + caffe::Phase_Name(graph_.phase()),
                             "",
                             {}});
  }

  void add_node(int source) {
    const LayerParameter& config = *graph_.source(source).config;
    Node node;
    node.name = config.name();
    node.type = config.type();
    node.sources = {source};
    const bool partial = draft_.is_partial(graph_.source(source).path);
    const LayerType* type = find_type(source, config);
    if (partial) type = nullptr;
    if (type) {
      check_count(source, config, "bottom", config.bottom_size(), type->min_bottoms, type->max_bottoms);
      node.layer = make_layer_of(source, config, *type);
    }
    const bool loss = type && type->loss;
    if (type) check_count(source, config, "top", config.top_size(), loss ? 0 : type->min_tops, type->max_tops);
    for (int i = 0; i < config.bottom_size(); ++i) connect_bottom(source, config, i, node);
    for (int i = 0; i < config.top_size(); ++i) add_top(source, config, i, config.top(i), node, loss);
    if (loss && config.top_size() == 0) add_top(source, config, 0, name_of_loss(config), node, loss);
    if (!partial) check_per_blob_lists(source, config);
    graph_.nodes.push_back(std::move(node));
  }

  static bool has_loss(const LayerParameter& config) {
    const LayerType* type = find_layer_type(config.type());
    return (type && type->loss) || std::ranges::any_of(config.loss_weight(), [](float weight) { return weight != 0; });
  }

  const LayerType* find_type(int source, const LayerParameter& config) {
    const std::string& path = graph_.source(source).path;
    const std::string name = draft_.type_of(path, config);
    const LayerType* type = find_layer_type(name);
    if (type && type->kind == LayerKind::kInternal) type = nullptr;
    if (!type && !(name.empty() && draft_.is_partial(path)))
      found_.types.push_back(unknown_type(config.name(), name, draft_.place_of_type(path)));
    return type;
  }

  void check_count(int source, const LayerParameter& config, const char* what, int have, int least, int most) {
    if (have >= least && (most < 0 || have <= most)) return;
    std::string wanted = std::to_string(least);
    if (most < 0)
      wanted = "at least " + wanted;
    else if (most != least)
      wanted += " to " + std::to_string(most);
    complain(source, have > least && have > 0 ? std::string(what) + "[" + std::to_string(have - 1) + "]" : "",
             label(config) + " has " + std::to_string(have) + " " + what + "s, expected " + wanted);
  }

  std::unique_ptr<Layer> make_layer_of(int source, const LayerParameter& config, const LayerType& type) {
    try {
      const BuildOptions& o = graph_.options;
      return type.make({config, graph_.phase(), o.data_threads, o.seed, o.share, o.open_data, o.skip_bad});
    } catch (const FieldError& e) {
      code_ = ExitCode::kNet;
      found_.rest.push_back(layer_mistake(graph_, source, e));
    } catch (const Error& e) {  // of a data file: its exit code counts only where the net has no errors
      if (found_.empty()) code_ = e.code();
      for (Diagnostic& mistake : with_names_of_files(e.mistakes(), graph_, source))
        found_.rest.push_back(std::move(mistake));
    }
    return nullptr;
  }

  void connect_bottom(int source, const LayerParameter& config, int i, Node& node) {
    const std::string& name = config.bottom(i);
    if (const auto found = graph_.names.find(name); found != graph_.names.end()) {
      node.x.push_back(found->second);
      return;
    }
    const std::string field = "bottom[" + std::to_string(i) + "]";
    if (const int later = own_layers().maker_from(source, name); later >= 0) {
      complain(source, field, label(config) + " reads '" + name + "' before it is made" + cycle_text(source, later),
               "layers run in the order of the file: move the layer that makes it before this one, or break the cycle",
               {{graph_.place_of_layer(later), "'" + name + "' is made here"}});
    } else if (!draft_.hides_tops()) {
      complain_missing(source, config, field, name);
    }
    Value value;  // a placeholder, so that later errors are still found
    value.name = name;
    graph_.values.push_back(value);
    node.x.push_back(int(graph_.values.size()) - 1);
  }

  void complain_missing(int source, const LayerParameter& config, const std::string& field, const std::string& blob) {
    const std::string what = label(config) + " reads '" + blob + "', which no layer makes";
    if (const int maker = all_layers().maker_from(0, blob); maker >= 0) {
      const std::string state = state_text(net().layer(maker));
      complain(source, field, what + " in " + state, {},
               {{graph_.file->positions.place(path_to("", "layer", maker)),
                 "'" + blob + "' is made here, by a layer that is not in " + state}});
    } else {
      complain(source, field, what, nearest_blob(blob));
    }
    found_.rest.back().lacks_blob = found_.rest.back().hint.empty();  // a hint: a misspelled name
  }

  /// The phase, and the stages if they decide whether `left_out` is in the net.
  std::string state_text(const LayerParameter& left_out) const {
    const std::string phase = "phase " + caffe::Phase_Name(graph_.phase());
    const auto names_stages = [](const auto& rules) {
      return std::ranges::any_of(rules, [](const auto& rule) { return rule.stage_size() + rule.not_stage_size() > 0; });
    };
    if (!names_stages(left_out.include()) && !names_stages(left_out.exclude())) return phase;
    std::string stages;
    for (const std::string& stage : graph_.state.stage()) stages += (stages.empty() ? " with stage " : ", ") + stage;
    return phase + (stages.empty() ? " without stages" : stages);
  }

  /// Hints and cycles cost a search: it is skipped for errors beyond the number reported.
  bool will_be_told() const { return found_.rest.size() < NetMistakes::kMaxReported; }

  std::string nearest_blob(const std::string& blob) const {
    if (!will_be_told()) return {};
    std::vector<std::string> known;
    for (const auto& [made, id] : graph_.names) known.push_back(made);
    return did_you_mean(blob, known);
  }

  /// Over the layers of this phase, indexed as graph_.layers.
  const BlobIndex& own_layers() {
    if (!own_layers_) {
      std::vector<const LayerParameter*> layers;
      for (const auto& source : graph_.layers) layers.push_back(source.config);
      own_layers_.emplace(layers);
    }
    return *own_layers_;
  }

  /// Over all layers of the file.
  const BlobIndex& all_layers() {
    if (!all_layers_) {
      std::vector<const LayerParameter*> layers;
      for (const LayerParameter& layer : net().layer()) layers.push_back(&layer);
      all_layers_.emplace(layers);
    }
    return *all_layers_;
  }

  /// ": cycle a -> b -> a" when `later` needs what `source` makes.
  std::string cycle_text(int source, int later) {
    constexpr size_t kMaxNamed = 12;
    if (!will_be_told()) return {};
    const std::vector<int> way = own_layers().way(source, later);
    if (way.empty()) return {};
    std::string text = ": cycle ";
    for (size_t i = 0; i < way.size(); ++i) {
      if (way.size() > kMaxNamed && i == kMaxNamed / 2) {
        i = way.size() - kMaxNamed / 2;
        text += "... -> ";
      }
      text += "'" + graph_.source(way[i]).config->name() + "' -> ";
    }
    return text + "'" + graph_.source(source).config->name() + "'";
  }

  /// The name of the top of a loss without tops: "(automatic)" as in Caffe; for further such losses the layer's name.
  std::string name_of_loss(const LayerParameter& config) const {
    const std::string name = "(automatic)";
    return graph_.names.contains(name) ? config.name() : name;
  }

  void add_top(int source, const LayerParameter& config, int i, const std::string& name, Node& node, bool loss) {
    const std::string field = "top[" + std::to_string(i) + "]";
    const auto before = graph_.names.find(name);
    const bool in_place = i < config.bottom_size() && config.bottom(i) == name;
    if (before != graph_.names.end() && !in_place) {
      const Value& first = graph_.value(before->second);
      const bool own = first.producer == NodeId(graph_.nodes.size());  // this layer; its node is not added yet
      complain(source, field,
               label(config) + " makes '" + name + "'" + (own ? " twice" : ", which another layer already makes"),
               "give it another name, or run in place with bottom and top at the same position",
               {{own ? graph_.place_of_layer(source) : graph_.place(graph_.node(first.producer)),
                 "'" + name + "' is made here"}});
      return;
    }
    Value value;
    value.name = name;
    value.producer = NodeId(graph_.nodes.size());
    value.loss_weight = i < config.loss_weight_size() ? config.loss_weight(i) : loss && i == 0 ? 1.0f : 0.0f;
    graph_.values.push_back(value);
    const ValueId id = int(graph_.values.size()) - 1;
    graph_.names[name] = id;
    node.y.push_back(id);
  }

  void check_per_blob_lists(int source, const LayerParameter& config) {
    if (config.loss_weight_size() > std::max(1, config.top_size()))
      complain(source, "loss_weight[" + std::to_string(config.top_size()) + "]",
               label(config) + " has " + std::to_string(config.loss_weight_size()) + " loss_weights for " +
                   std::to_string(config.top_size()) + " tops");
    if (config.propagate_down_size() > 0 && config.propagate_down_size() != config.bottom_size())
      complain(source, "propagate_down[0]",
               label(config) + " has " + std::to_string(config.propagate_down_size()) + " propagate_down for " +
                   std::to_string(config.bottom_size()) + " bottoms",
               "set one for each bottom, or none");
  }

  void mark_kept() {
    if (!graph_.options.only_kept)
      for (Value& value : graph_.values) value.kept = value.readers.empty() || value.loss_weight != 0;
    std::vector<std::string> known;
    for (const auto& [name, id] : graph_.names) known.push_back(name);
    for (const std::string& name : graph_.options.keep) {
      const auto found = graph_.names.find(name);
      if (found == graph_.names.end())
        throw Error(ExitCode::kUsage, "the net has no blob '" + name + "'", meant_or_known(name, known));
      graph_.value(found->second).kept = true;
    }
    if (graph_.options.observed)
      for (const auto& [name, id] : graph_.names) graph_.value(id).kept = true;
  }

  std::shared_ptr<const NetFile> given_;  ///< graph_.file differs where layers are frozen
  Graph graph_;
  PartialNet draft_;  ///< of given_
  NetMistakes found_;
  std::optional<BlobIndex> own_layers_, all_layers_;  ///< created for the first error that needs them
  ExitCode code_ = ExitCode::kNet;
};

}  // namespace

Graph build(std::shared_ptr<const NetFile> file, const BuildOptions& options) {
  return Builder(std::move(file), options).run();
}

void refuse_draft(const std::shared_ptr<const NetFile>& file) {
  if (file->mistakes.empty()) return;
  NetMistakes found;
  for (const caffe::Phase phase : phases_with_data(file->net, {})) {
    BuildOptions options;
    options.state.set_phase(phase);
    options.open_data = false;
    found.add(Builder(file, options).find_mistakes());
  }
  found.throw_if_any();
}

}  // namespace cortado::graph
