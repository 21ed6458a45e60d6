#include "onnx/import/import.h"

#include <algorithm>
#include <new>

#include "core/error.h"
#include "core/file_error.h"
#include "onnx/import/merge_layers.h"
#include "onnx/import/model_file.h"
#include "onnx/import/patterns.h"
#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

class ModelReader {
 public:
  ModelReader(const std::string& path, std::map<std::string, Shape> shapes) : file_(path), shapes_(std::move(shapes)) {}

  ImportedNet run() {
    merge_gelu(file_.graph(), file_);
    remove_dead_nodes(file_.graph());
    const onnx::GraphProto& graph = file_.graph();
    net_.net.net.set_name(graph.name());
    for (const onnx::TensorProto& tensor : graph.initializer()) values_[tensor.name()].tensor = &tensor;
    for (const onnx::ValueInfoProto& output : graph.output()) net_.outputs.insert(output.name());
    take_shapes(graph);
    for (const onnx::ValueInfoProto& input : graph.input())
      if (!values_.contains(input.name())) add_input(input);
    for (const onnx::NodeProto& node : graph.node()) read(node);
    for (const onnx::ValueInfoProto& output : graph.output()) finish_output(output.name());
    merge_layers(net_);
    return std::move(net_.net);
  }

 private:
  /// Every shape that was given has its input's name from here on.
  void take_shapes(const onnx::GraphProto& graph) {
    std::vector<std::string> names;
    for (const onnx::ValueInfoProto& input : graph.input())
      if (!values_.contains(input.name())) names.push_back(input.name());
    if (shapes_.contains("") && names.size() == 1) shapes_[names[0]] = shapes_.extract("").mapped();
    for (const auto& [name, shape] : shapes_)
      if (std::ranges::find(names, name) == names.end())
        throw Error(ExitCode::kUsage,
                    name.empty() ? "--shape: the model has " + std::to_string(names.size()) + " inputs: name one"
                                 : "--shape: '" + name + "' is no input of the model",
                    name.empty() ? "as in --shape=" + (names.empty() ? "NAME" : names[0]) + "=1,3,224,224"
                                 : did_you_mean(name, names));
  }

  /// The extents that were given for an input; they agree with those that the model has.
  const Shape* given_shape(const std::string& input, const onnx::TensorShapeProto& dims) {
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
                "only extents that the model leaves open (?) may be chosen");
  }

  /// The first extent is the batch; 1 where it is open and no shape is given.
  void add_input(const onnx::ValueInfoProto& input) {
    caffe::LayerParameter layer = NodeReader::layer("Input");
    auto& shape = *layer.mutable_input_param()->add_shape();
    const auto& dims = input.type().tensor_type().shape();
    if (!input.type().has_tensor_type() || !input.type().tensor_type().has_shape())
      file_.fail("input '" + input.name() + "' has no shape", "export the model with one");
    const Shape* given = given_shape(input.name(), dims);
    for (int axis = 0; axis < dims.dim_size(); ++axis) {
      if (given) {
        shape.add_dim((*given)[axis]);
        continue;
      }
      const bool known = dims.dim(axis).has_dim_value() && dims.dim(axis).dim_value() > 0;
      if (!known && axis > 0)
        file_.fail("input '" + input.name() + "': axis " + std::to_string(axis) + " has no extent",
                   "--shape=" + input.name() + "=1,3,224,224, or the like, chooses the extents that are open");
      shape.add_dim(known ? dims.dim(axis).dim_value() : 1);
    }
    layer.set_name(net_.layer_name(input.name()));
    layer.add_top(net_.blob_name(input.name()));
    try {
      values_[input.name()].blob = net_.add(std::move(layer), {}, {}).at(0);
    } catch (const FieldError& error) {
      file_.fail("input '" + input.name() + "': " + error.message());
    }
  }

  void read(const onnx::NodeProto& node) {
    NodeReader reader(node, file_, net_, values_);
    const bool known = node.domain().empty() || node.domain() == "ai.onnx";
    bool constant = true;
    for (size_t i = 0; i < reader.inputs(); ++i)
      if (reader.has_input(i) && !reader.is_constant(i)) constant = false;
    const auto fold = known && constant ? folder_of_op(node.op_type()) : nullptr;
    const auto read = fold ? fold : known ? importer_of(node.op_type()) : nullptr;
    if (!read) reader.fail("no layer does this", "operators that can be read: " + operators());
    try {
      read(reader);
    } catch (const FieldError& error) {
      reader.fail(error.message(), error.hint());
    }
  }

  /// An output that is no blob of its own name gets one.
  void finish_output(const std::string& name) {
    const auto found = values_.find(name);
    if (found == values_.end()) file_.fail("nothing makes its output '" + name + "'");
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

  ModelFile file_;
  std::map<std::string, Shape> shapes_;  ///< that were given, by input
  NetBuilder net_;
  Values values_;
};

}  // namespace

ImportedNet import_model(const std::string& path, const std::map<std::string, Shape>& shapes) {
  try {
    return ModelReader(path, shapes).run();
  } catch (const std::bad_alloc&) {
    throw file_error(ExitCode::kNet, path, "damaged: it needs more memory than a model of its size should");
  }
}

}  // namespace cortado::importing
