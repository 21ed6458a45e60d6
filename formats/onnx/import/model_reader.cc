#include "onnx/import/model_reader.h"

#include <algorithm>

#include "core/error.h"
#include "core/field_text.h"
#include "onnx/export/table.h"
#include "onnx/import/patterns.h"
#include "onnx/import/table.h"
#include "onnx/whole_layers.h"

namespace cortado::importing {

namespace {

/// Adds a layer of the model's metadata.
void read_layer(NodeReader& node) {
  caffe::LayerParameter layer;
  // Only types that the exporter writes: others may run code or read files.
  if (!layer.ParseFromString(node.text("layer", "")) || !exporting::exporter_of(layer.type()) ||
      layer.type() == "Input" || node.outputs() == 0)
    node.fail("the layer in the model's metadata is damaged");
  std::vector<Blob> bottoms;
  for (size_t i = 0; i < node.inputs(); ++i) bottoms.push_back(node.x(i));
  layer.clear_bottom();
  layer.clear_top();
  node.finish(std::move(layer), bottoms);
}

}  // namespace

bool has_steps_first(const onnx::TensorShapeProto& dims) {
  return dims.dim_size() == 3 && dims.dim(0).dim_value() > 1 && dims.dim(1).dim_value() <= 1;
}

ModelReader::ModelReader(const ModelFile& file, const ImportOptions& options, BatchAxis axis, int64_t mark)
    : file_(file), shapes_(options.shapes), given_batch_(options.batch), batch_axis_(axis) {
  net_.batch.mark = mark;
}

ImportedNet ModelReader::run() {
  const onnx::GraphProto& graph = file_.graph();
  net_.net.net.set_name(graph.name());
  for (const onnx::TensorProto& tensor : graph.initializer()) values_[tensor.name()].tensor = &tensor;
  for (const onnx::ValueInfoProto& output : graph.output()) net_.outputs.insert(output.name());
  take_shapes(graph);
  for (const onnx::ValueInfoProto& input : graph.input())
    if (!values_.contains(input.name())) add_input(input);
  types_ = element_types(graph);
  for (const onnx::NodeProto& node : graph.node()) read(node);
  for (const onnx::ValueInfoProto& output : graph.output()) finish_output(output.name());
  merge_layers(net_);
  keep_outputs(net_);
  return std::move(net_.net);
}

void ModelReader::take_shapes(const onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& input : graph.input())
    if (!values_.contains(input.name())) names.push_back(input.name());
  if (shapes_.contains("") && names.size() == 1) shapes_[names[0]] = shapes_.extract("").mapped();
  for (const auto& [name, shape] : shapes_)
    if (std::ranges::find(names, name) == names.end())
      throw Error(ExitCode::kUsage,
                  name.empty() ? "--shape: the model has " + std::to_string(names.size()) + " inputs"
                               : "--shape: '" + name + "' is not an input of the model",
                  name.empty() ? "name one, for example --shape=" + (names.empty() ? "NAME" : names[0]) + "=1,3,224,224"
                               : did_you_mean(name, names));
}

const Shape* ModelReader::given_shape(const std::string& input, const onnx::TensorShapeProto& dims) {
  const auto found = shapes_.find(input);
  if (found == shapes_.end()) return nullptr;
  bool agrees = found->second.axes() == dims.dim_size();
  for (int axis = 0; agrees && axis < dims.dim_size(); ++axis)
    agrees = dims.dim(axis).dim_value() <= 0 || dims.dim(axis).dim_value() == found->second[axis];
  if (agrees) return &found->second;
  std::string own;
  for (const auto& dim : dims.dim())
    own += (own.empty() ? "" : "x") + (dim.dim_value() > 0 ? std::to_string(dim.dim_value()) : std::string("?"));
  throw Error(ExitCode::kUsage,
              "--shape: input '" + input + "' is " + own + " in the model, not " + found->second.str(),
              "change only extents that the model leaves open (?)");
}

std::vector<int64_t> ModelReader::extents_of_input(const onnx::ValueInfoProto& input) {
  const auto& dims = input.type().tensor_type().shape();
  if (!input.type().has_tensor_type() || !input.type().tensor_type().has_shape())
    file_.fail("input '" + input.name() + "' has no shape", "export the model with shapes");
  if (const Shape* given = given_shape(input.name(), dims)) return given->dims();
  std::vector<int64_t> extents;
  for (int axis = 0; axis < dims.dim_size(); ++axis) {
    const bool known = dims.dim(axis).has_dim_value() && dims.dim(axis).dim_value() > 0;
    const bool may_be_batch = axis == 0 || (axis == 1 && batch_axis_ == BatchAxis::kSecond && has_steps_first(dims));
    if (!known && !may_be_batch)
      file_.fail("input '" + input.name() + "': axis " + std::to_string(axis) + " has no fixed extent",
                 "set the open extents, for example --shape=" + input.name() + "=1,3,224,224");
    extents.push_back(known ? dims.dim(axis).dim_value() : 1);
  }
  return extents;
}

int ModelReader::batch_axis(const onnx::TensorShapeProto& dims, const std::vector<int64_t>& extents) {
  if (batch_axis_ == BatchAxis::kNone || extents.empty()) return -1;
  const int axis = batch_axis_ == BatchAxis::kSecond && has_steps_first(dims) ? 1 : 0;
  if (!knows_batch_) net_.batch.own = extents[size_t(axis)], net_.batch.open = dims.dim(axis).dim_value() <= 0;
  knows_batch_ = true;
  return extents[size_t(axis)] == net_.batch.own ? axis : -1;
}

void ModelReader::add_input(const onnx::ValueInfoProto& input) {
  const std::vector<int64_t> extents = extents_of_input(input);
  const int axis = batch_axis(input.type().tensor_type().shape(), extents);
  caffe::LayerParameter layer = NodeReader::layer("Input");
  auto& shape = *layer.mutable_input_param()->add_shape();
  for (const int64_t extent : extents) shape.add_dim(extent);
  if (axis >= 0) shape.set_dim(axis, net_.batch.mark);
  layer.set_name(net_.layer_name(input.name()));
  layer.add_top(net_.blob_name(input.name()));
  try {
    Blob& blob = values_[input.name()].blob = net_.add(std::move(layer), {}, {}).at(0);
    auto& added = *net_.net.net.mutable_layer(net_.net.net.layer_size() - 1)->mutable_input_param();
    if (axis >= 0) added.mutable_shape(0)->set_dim(axis, given_batch_ > 0 ? given_batch_ : extents[size_t(axis)]);
    if (axis >= 0 && !net_.sample) net_.sample = NetBuilder::Sample{blob, axis};
    if (batch_axis_ == BatchAxis::kNone && !extents.empty()) blob = held(blob);
  } catch (const FieldError& error) {
    file_.fail("input '" + input.name() + "': " + with_field(error));
  }
}

Blob ModelReader::held(const Blob& input) {
  caffe::LayerParameter layer = NodeReader::layer("Reshape");
  const std::vector<int64_t>& dims = input.shape.dims();
  const std::string wanted = input.name + "/batch_of_" + std::to_string(dims[0]);
  layer.set_name(net_.layer_name(wanted));
  layer.add_top(net_.blob_name(wanted));
  auto& shape = *layer.mutable_reshape_param()->mutable_shape();
  for (size_t i = 0; i < dims.size(); ++i) shape.add_dim(i < 2 ? dims[i] : 0);
  return net_.add(std::move(layer), {input}, {}).at(0);
}

void ModelReader::read(const onnx::NodeProto& node) {
  place_ = describe(node);
  NodeReader reader(node, file_, net_, values_);
  const bool whole = node.domain() == kLayerDomain && node.op_type() == "Layer";
  const bool known = node.domain().empty() || node.domain() == "ai.onnx";
  bool constant = true;
  for (size_t i = 0; i < reader.inputs(); ++i)
    if (reader.has_input(i) && !reader.is_constant(i)) constant = false;
  const auto fold = known && constant ? folder_of_op(node.op_type()) : nullptr;
  const auto read = fold ? fold : known ? importer_of(node.op_type()) : whole ? read_layer : nullptr;
  if (!read) reader.fail("the operator is not supported", "use one of: " + operators());
  try {
    if (!fold && known && reader.outputs() > 0) refuse_inexact_integers(reader, types_[node.output(0)]);
    read(reader);
  } catch (const FieldError& error) {
    reader.fail(with_field(error), error.hint());
  }
}

void ModelReader::finish_output(const std::string& name) {
  const auto found = values_.find(name);
  if (found == values_.end()) file_.fail("no node produces the output '" + name + "'");
  if (!found->second.is_constant() && !found->second.padding && found->second.blob.name == name) return;
  onnx::NodeProto node;
  node.set_op_type("Identity");
  node.add_input(name);
  NodeReader reader(node, file_, net_, values_);
  caffe::LayerParameter copy = NodeReader::layer("Power");
  copy.set_name(net_.layer_name(name));
  copy.add_top(net_.blob_name(name));
  net_.add(std::move(copy), {reader.x(0)}, {});
}

}  // namespace cortado::importing
