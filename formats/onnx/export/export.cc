#include "onnx/export/export.h"

#include <algorithm>

#include "core/field_text.h"
#include "core/text/text.h"
#include "onnx/export/half.h"
#include "onnx/export/image_input.h"
#include "onnx/export/quantized.h"
#include "onnx/export/simplify.h"
#include "onnx/export/source_net.h"
#include "onnx/export/table.h"
#include "onnx/import/table.h"
#include "onnx/whole_layers.h"

namespace cortado::exporting {

namespace {

constexpr int64_t kOpset = 17, kIrVersion = 8;  // kIrVersion is the one that opset 17 was released with
constexpr const char* kBatch = "N";

class ModelWriter {
 public:
  ModelWriter(const ExportRequest& request, onnx::GraphProto& graph)
      : request_(request),
        reader_(reader_named(request.reader)),
        source_(request),
        graph_(source_.graph()),
        out_(graph) {}

  void run() {
    out_.graph().set_name(graph_.name.empty() ? "net" : graph_.name);  // ONNX requires a name
    name_values();
    fix_batch_if_needed();
    for (const graph::Node& node : graph_.nodes)
      if (node.type == "Input") write_inputs(node);
    for (const graph::Node& node : graph_.nodes)
      if (node.type != "Input") write_layer(node);
    mistakes_.throw_if_any(ExitCode::kNet);
    for (const std::string& output : source_.outputs()) {
      const graph::ValueId id = graph_.names.at(output);
      describe(id, names_[size_t(id)], *out_.graph().add_output());
    }
    std::map<std::string, Shape> shapes;
    for (size_t id = 0; id < names_.size(); ++id) shapes[names_[id]] = graph_.values[id].shape;
    merge_channel_maps(out_.graph(), shapes, request_.fold || request_.int8);
    merge_reversed_steps(out_.graph());
    if (request_.int8) quantize(out_.graph(), eight_bit_layers());
    if (request_.half == ExportRequest::Half::kWeights) store_weights_in_half(out_.graph());
    if (request_.half == ExportRequest::Half::kAll) compute_in_half(out_.graph(), float_nodes_);
    warn_of_unsupported(reader_, out_.graph());
  }

  /// Those whose operators the importer does not read.
  const std::vector<caffe::LayerParameter>& whole_layers() const { return whole_layers_; }

 private:
  /// Inputs and the last values of other blobs have their blob's name. Values that layers overwrite in place, and those
  /// computed in place on an input, get their layer's name appended.
  void name_values() {
    names_.resize(graph_.values.size());
    for (const graph::Node& node : graph_.nodes)
      if (node.type == "Input")
        for (const graph::ValueId id : node.y) names_[size_t(id)] = out_.value_name(graph_.value(id).name);
    std::set<std::string> inputs(names_.begin(), names_.end());
    for (const auto& [blob, id] : graph_.names)
      if (!inputs.count(blob)) names_[size_t(id)] = out_.value_name(blob);
    for (size_t id = 0; id < names_.size(); ++id) {
      const graph::Value& value = graph_.values[id];
      if (names_[id].empty() && value.producer >= 0)
        names_[id] = out_.value_name(value.name + "/" + graph_.node(value.producer).name);
    }
  }

  void describe(graph::ValueId id, const std::string& name, onnx::ValueInfoProto& info) const {
    info.set_name(name);
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(onnx::TensorProto::FLOAT);
    const Shape& shape = graph_.value(id).shape;
    tensor.mutable_shape();
    for (int axis = 0; axis < shape.axes(); ++axis) {
      auto& dim = *tensor.mutable_shape()->add_dim();
      if (!source_.grows(id, axis))
        dim.set_dim_value(shape[axis]);
      else if (!source_.rows_vary(id, axis) && is_batch(id, axis))
        dim.set_dim_param(kBatch);  // otherwise a multiple of the batch: an unnamed extent
    }
  }

  /// Whether the extent is the batch itself, that is, equal to the inputs'.
  bool is_batch(graph::ValueId id, int axis) const {
    for (const graph::Node& node : graph_.nodes)
      if (node.type == "Input" && !node.y.empty() && graph_.value(node.y[0]).shape.axes() > source_.batch_axis())
        return graph_.value(id).shape[axis] == graph_.value(node.y[0]).shape[source_.batch_axis()];
    return false;
  }

  void write_inputs(const graph::Node& node) {
    for (const graph::ValueId id : node.y) {
      std::string& name = names_[size_t(id)];
      describe(id, name, *out_.graph().add_input());
      if (request_.like.empty()) continue;
      const std::string pixels = name;
      name = out_.value_name(pixels + "/prepared");
      const int before = out_.graph().node_size();
      write_image_input(out_, read_image_input(request_.like, request_.rgb), graph_.value(id).shape, pixels, name);
      keep_in_floats(before);
    }
  }

  /// The values with the shapes that they have in `graph`. If the batch is not `open`, no extent grows with it.
  std::vector<Operand> operands(const graph::Graph& graph, const std::vector<graph::ValueId>& ids, bool open) const {
    std::vector<Operand> out;
    for (const graph::ValueId id : ids) {
      const Shape& shape = graph.value(id).shape;
      Operand& operand = out.emplace_back(Operand{names_[size_t(id)], shape, {}});
      for (int axis = 0; axis < shape.axes(); ++axis)
        operand.dynamic.push_back(open ? source_.grows(id, axis) : source_.rows_vary(id, axis));
    }
    return out;
  }

  /// A constant that grows with the batch reads the first input, whose extent it has.
  std::vector<graph::ValueId> bottoms_of(const graph::Node& node) const {
    if (!node.x.empty() || node.y.empty()) return node.x;
    const int axes = graph_.value(node.y[0]).shape.axes();
    if (source_.batch_axis() >= axes || !source_.grows_with_batch(node.y[0], source_.batch_axis())) return {};
    for (const graph::Node& input : graph_.nodes)
      if (input.type == "Input") return {input.y[0]};
    return {};
  }

  /// Writes the layer as it is in `graph`. Throws Refusal or FieldError.
  void write(const graph::Graph& graph, const graph::Node& node, const caffe::LayerParameter& config, GraphWriter& out,
             bool open) {
    const LayerWriter::Constants constants = {
        [&](size_t top) { return source_.read_constant(node.y[top]); },
        [&](size_t bottom) {
          return source_.is_constant(node.x[bottom]) ? source_.read_constant(node.x[bottom]) : std::vector<float>();
        }};
    LayerWriter layer(config, operands(graph, bottoms_of(node), open), operands(graph, node.y, open), out, constants,
                      reader_);
    exporter_of(node.type)(layer);
  }

  /// Nodes of a layer that are not the same for the next batch are wrong for others.
  void fix_batch_if_needed() {
    const auto depends = [&](const graph::Node& node) {
      return node.type != "Input" && exporter_of(node.type) && !takes_any_batch(node);
    };
    while (source_.larger()) {
      const auto found = std::find_if(graph_.nodes.begin(), graph_.nodes.end(), depends);
      if (found == graph_.nodes.end()) return;
      source_.drop_larger(*found);
    }
  }

  bool takes_any_batch(const graph::Node& node) {
    const caffe::LayerParameter config = source_.layer(node);
    const auto text_of = [&](const graph::Graph& graph, bool open) {
      onnx::GraphProto scratch;
      GraphWriter out(scratch, /*digests=*/true);
      try {
        write(graph, node, config, out, open);
      } catch (const Refusal& refusal) {
        return "refused: " + refusal.message;
      } catch (const FieldError& error) {
        return "refused: " + with_field(error);
      }
      return scratch.SerializeAsString();
    };
    const std::string own = text_of(graph_, true);
    if (own.starts_with("refused: ")) return text_of(graph_, false).starts_with("refused: ");  // for another reason
    return own == text_of(*source_.larger(), true);
  }

  void write_layer(const graph::Node& node) {
    if (!exporter_of(node.type))
      return add_mistake(node, {"type", "this layer type has no ONNX operator", way_around(node)});
    const caffe::LayerParameter config = source_.layer(node);
    const int before = out_.graph().node_size();
    try {
      write(graph_, node, config, out_, /*open=*/true);
      const bool has_indices =
          (node.type == "Pooling" && node.y.size() > 1) || (node.type == "Upsample" && node.x.size() > 1);
      if (has_indices || needs_floats(node.type)) keep_in_floats(before);
      if (config.blobs_size() == 0 && !can_be_read(before)) note_whole(node, config);
    } catch (const Refusal& refusal) {
      add_mistake(node, refusal);
    } catch (const FieldError& error) {
      add_mistake(node, {error.field(), with_field(error), error.hint()});
    }
  }

  /// Whether the importer reads the nodes from number `first` on.
  bool can_be_read(int first) {
    const auto& nodes = out_.graph().node();
    return std::all_of(nodes.begin() + first, nodes.end(),
                       [](const onnx::NodeProto& node) { return importing::importer_of(node.op_type()) != nullptr; });
  }

  void note_whole(const graph::Node& node, caffe::LayerParameter layer) {
    layer.clear_bottom();
    layer.clear_top();
    layer.clear_phase();
    layer.clear_include();
    layer.clear_exclude();
    for (const graph::ValueId id : node.x) layer.add_bottom(names_[size_t(id)]);
    for (const graph::ValueId id : node.y) layer.add_top(names_[size_t(id)]);
    whole_layers_.push_back(std::move(layer));
  }

  std::vector<EightBitLayer> eight_bit_layers() const {
    std::vector<EightBitLayer> layers;
    for (const SourceNet::OnIntegers& found : source_.layers_on_integers())
      layers.push_back({found.name, found.scales, found.codes.x, found.codes.y, names_[size_t(found.y)]});
    if (layers.empty())
      throw Error(ExitCode::kUsage, "--int8: no layer of the net computes on 8-bit integers",
                  "pass the net that `cortado quantize` wrote");
    return layers;
  }

  /// The nodes from number `first` on compute on 32-bit floats, even with --half.
  void keep_in_floats(int first) {
    for (int i = first; i < out_.graph().node_size(); ++i) float_nodes_.insert(out_.graph().node(i).name());
  }

  std::string way_around(const graph::Node& node) const {
    std::string blobs;
    for (const graph::ValueId id : node.x) blobs += (blobs.empty() ? "" : ",") + graph_.value(id).name;
    return blobs.empty() ? "" : "use --blobs=" + blobs + " to end the model before it";
  }

  void add_mistake(const graph::Node& node, const Refusal& refusal) {
    Diagnostic mistake;
    mistake.place = source_.place(node.name, refusal.field);
    mistake.message = layer_text(node.name, node.type) + " cannot be written as ONNX: " + refusal.message;
    mistake.hint = refusal.hint;
    mistakes_.add(std::move(mistake));
  }

  const ExportRequest& request_;
  const Reader& reader_;
  SourceNet source_;
  const graph::Graph& graph_;
  GraphWriter out_;
  std::vector<std::string> names_;  ///< by value
  std::set<std::string> float_nodes_;
  std::vector<caffe::LayerParameter> whole_layers_;
  Mistakes mistakes_;
};

}  // namespace

onnx::ModelProto make_model(const ExportRequest& request) {
  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("cortado");
  model.set_producer_version(CORTADO_VERSION);
  onnx::OperatorSetIdProto& opset = *model.add_opset_import();
  opset.set_domain("");
  opset.set_version(kOpset);
  ModelWriter writer(request, *model.mutable_graph());
  writer.run();
  if (request.half == ExportRequest::Half::kNone && !request.int8) note_layers(model, writer.whole_layers());
  return model;
}

}  // namespace cortado::exporting
