#include "onnx/export/source_net.h"

#include <algorithm>
#include <set>

#include "core/log.h"
#include "core/text/text.h"
#include "graph/deploy.h"
#include "graph/passes/passes.h"
#include "layers/common/weights/quantization.h"
#include "layers/registry.h"
#include "layers/roles.h"
#include "proto/text/write_text.h"

namespace cortado::exporting {

namespace {

graph::BuildOptions options_of(const ExportRequest& request) {
  graph::BuildOptions options;
  options.state = request.state;
  options.state.set_phase(caffe::TEST);
  options.backward = false;
  options.fuse = false;
  return options;
}

/// Marks values whose number of rows depends on the values of a pass, and those computed from them.
void mark_dynamic_rows(graph::Graph& graph) {
  for (const graph::Node& node : graph.nodes) {
    const DynamicRows* rows = node.layer->roles().rows;
    const auto is_dynamic = [&](graph::ValueId id) { return graph.value(id).dynamic_rows; };
    if ((rows && rows->rows_vary()) || std::any_of(node.x.begin(), node.x.end(), is_dynamic))
      for (const graph::ValueId id : node.y) graph.value(id).dynamic_rows = true;
  }
}

graph::Graph graph_with_shapes(std::shared_ptr<const NetFile> file, const graph::BuildOptions& options) {
  graph::Graph graph = graph::build(std::move(file), options);
  graph::run_passes(graph, "infer_shapes");
  mark_dynamic_rows(graph);
  return graph;
}

/// The shape of the net's first input; without axes if it has none.
Shape first_input(const caffe::NetParameter& net) {
  for (const caffe::LayerParameter& layer : net.layer())
    for (const caffe::BlobShape& shape : layer.input_param().shape())
      return Shape(std::vector<int64_t>(shape.dim().begin(), shape.dim().end()));
  return {};
}

void grow(caffe::BlobShape& shape, int axis) {
  if (axis < shape.dim_size()) shape.set_dim(axis, shape.dim(axis) + 1);
}

/// Constants of one value that have an extent for each sample grow, too.
void grow_constant(caffe::LayerParameter& layer, int axis, int64_t batch) {
  caffe::ContinuationIndicatorParameter& indicator = *layer.mutable_continuation_indicator_param();
  if (layer.bottom_size() == 0 && indicator.batch_size() == batch) indicator.set_batch_size(uint32_t(batch + 1));
  caffe::DummyDataParameter& dummy = *layer.mutable_dummy_data_param();
  if (dummy.shape_size() == 0 || dummy.data_filler(0).type() != "constant") return;
  caffe::BlobShape& shape = *dummy.mutable_shape(0);
  if (axis < shape.dim_size() && shape.dim(axis) == batch) grow(shape, axis);
}

/// The net with inputs, and perhaps constants, larger by one along `axis`.
std::shared_ptr<const NetFile> with_larger_batch(const NetFile& file, int axis, bool constants) {
  auto larger = std::make_shared<NetFile>(file);
  const int64_t batch = first_input(file.net)[axis];
  for (caffe::LayerParameter& layer : *larger->net.mutable_layer()) {
    for (caffe::BlobShape& shape : *layer.mutable_input_param()->mutable_shape()) grow(shape, axis);
    if (constants) grow_constant(layer, axis, batch);
  }
  return larger;
}

bool is_recurrent(const graph::Node& node) { return find_layer_type(node.type)->family == LayerFamily::kRecurrent; }

/// The first layer with a weight whose shape the batch defines, or null.
const graph::Node* layer_with_batch_in_weights(const graph::Graph& graph, const graph::Graph& larger) {
  for (size_t i = 0; i < graph.weights.size(); ++i)
    if (graph.weights[i].spec.shape != larger.weights[i].spec.shape) return &graph.node(graph.weights[i].owner);
  return nullptr;
}

NetFile read_source(const ExportRequest& request) {
  auto draft = std::make_shared<NetFile>(read_net_draft(request.net));
  request.overrides.apply(*draft);
  graph::refuse_draft(draft);
  return *draft;
}

}  // namespace

SourceNet::SourceNet(const ExportRequest& request) : written_(read_source(request)) {
  graph::DeployOptions deploy;
  deploy.state = request.state;
  deploy.shapes = request.shapes;
  deploy.outputs = request.outputs;
  const graph::Deployed deployed = graph::make_deploy_net(written_, deploy);
  for (const std::string& note : deployed.notes) log_info() << note;
  outputs_ = deployed.outputs;
  file_ = std::make_shared<const NetFile>(read_net_from_text(to_text(deployed.net), request.net + " (deployed)"));
  const graph::BuildOptions options = options_of(request);
  graph_ = graph_with_shapes(file_, options);
  find_larger();
  find_constants();
  make_net(request);
}

/// Tries the axes from batch_axis_ on: the first, and the second of steps x sequences x values for recurrent layers.
void SourceNet::find_larger() {
  const bool recurs = std::any_of(graph_.nodes.begin(), graph_.nodes.end(), is_recurrent);
  const int axes = first_input(file_->net).axes(), most = axes > 2 && recurs ? 2 : std::min(axes, 1);
  for (; batch_axis_ < most; ++batch_axis_)
    for (const bool constants : {false, true}) {
      try {
        larger_ = graph_with_shapes(with_larger_batch(*file_, batch_axis_, constants), graph_.options);
      } catch (const Error&) {
        continue;
      }
      const graph::Node* node = layer_with_batch_in_weights(graph_, *larger_);
      if (!node && !steps_grow()) return;
      if (node) note_fixed(*node);
      larger_.reset();
    }
  log_warning() << "The model's batch size is fixed, because "
                << (fixed_by_.empty() ? "the net's" : "that of " + fixed_by_) << " is";
}

/// Whether a recurrent layer takes the growing extent for its steps.
bool SourceNet::steps_grow() const {
  for (const graph::Node& node : graph_.nodes)
    if (is_recurrent(node) && graph_.value(node.x[0]).shape.axes() > 2 && grows_with_batch(node.x[0], 0)) return true;
  return false;
}

void SourceNet::note_fixed(const graph::Node& node) {
  if (fixed_by_.empty()) fixed_by_ = layer_text(node.name, node.type);
}

void SourceNet::drop_larger(const graph::Node& node) {
  note_fixed(node);
  larger_.reset();
  ++batch_axis_;
  find_larger();
}

/// DummyData layers of a deploy net are constants.
void SourceNet::find_constants() {
  constants_.assign(graph_.values.size(), false);
  for (const graph::Node& node : graph_.nodes) {
    const LayerKind kind = kind_of(node.type);
    const bool computed = kind == LayerKind::kComputing && !node.x.empty() && !node.layer->roles().python &&
                          std::all_of(node.x.begin(), node.x.end(), [&](graph::ValueId id) { return is_constant(id); });
    if (computed || kind == LayerKind::kConstant || kind == LayerKind::kData || node.type == "PriorBox")
      for (const graph::ValueId id : node.y) constants_[size_t(id)] = true;
  }
  for (size_t id = 0; id < constants_.size(); ++id)  // a pass leaves only the last value of a blob
    if (graph_.names.at(graph_.values[id].name) != graph::ValueId(id)) constants_[id] = false;
}

void SourceNet::make_net(const ExportRequest& request) {
  graph::BuildOptions options = options_of(request);
  for (size_t id = 0; id < constants_.size(); ++id)
    if (constants_[id]) options.keep.push_back(graph_.values[id].name);
  std::vector<std::vector<LayerWeights>> read;
  for (const std::string& path : request.weights) read.push_back(read_weights(path));
  net_ = cortado::make_net(file_, options, context_);
  if (read.empty() && !net_->plan().graph.weights.empty())
    throw Error(ExitCode::kUsage, "the weights are missing, but the net has layers with weights",
                "pass them: cortado convert onnx NET WEIGHTS -o model.onnx");
  for (size_t i = 0; i < read.size(); ++i) net_->load_weights(read[i], request.weights[i]);
  net_->require_weights();
}

bool SourceNet::rows_vary(graph::ValueId value, int axis) const {
  const graph::Value& rows = graph_.value(value);
  const bool lists_detections = rows.shape.axes() == 4 && rows.shape.count(0, 2) == 1;  // 1 x 1 x rows x 7
  return rows.dynamic_rows && axis == (lists_detections ? 2 : 0);
}

bool SourceNet::grows_with_batch(graph::ValueId value, int axis) const {
  return larger_ && larger_->value(value).shape[axis] != graph_.value(value).shape[axis];
}

Place SourceNet::place(const std::string& layer, const std::string& field) const {
  for (int i = 0; i < written_.net.layer_size(); ++i) {
    if (written_.net.layer(i).name() != layer || !graph::selected(written_.net.layer(i), graph_.state)) continue;
    const std::string path = "layer[" + std::to_string(i) + "]";
    return written_.positions.place(path + "." + (field.empty() ? "type" : field));
  }
  return written_.positions.place("");
}

std::vector<SourceNet::OnIntegers> SourceNet::layers_on_integers() const {
  graph::BuildOptions options = graph_.options;
  options.frozen = options.fuse = options.eight_bits = true;
  graph::Graph frozen = graph::build(file_, options);
  graph::run_passes(frozen, "use_8_bits");
  std::vector<OnIntegers> found;
  for (const graph::Node& node : frozen.nodes) {
    if (!node.eight_bits || node.sources.empty()) continue;
    const caffe::LayerParameter& config = *frozen.source(node.sources[0]).config;
    if (!wants_8_bits(config.quantization_param())) continue;
    std::set<std::string> merged;
    for (const int source : node.sources) merged.insert(frozen.source(source).config->name());
    graph::ValueId y = -1;
    for (const graph::Node& own : graph_.nodes)
      if (merged.contains(own.name)) y = own.y[0];
    if (y >= 0) found.push_back({config.name(), config.quantization_param(), *node.eight_bits, y});
  }
  return found;
}

caffe::LayerParameter SourceNet::layer(const graph::Node& node) {
  caffe::LayerParameter config;
  const int source = net_->plan().graph.source_named(node.name);
  if (source < 0) throw_internal(layer_text(node.name) + " is not in the net that runs");
  net_->layer_to_proto(size_t(source), config);
  return config;
}

std::vector<float> SourceNet::read_constant(graph::ValueId value) {
  if (!ran_) net_->forward();
  ran_ = true;
  return net_->read_blob(graph_.value(value).name);
}

}  // namespace cortado::exporting
