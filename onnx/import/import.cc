#include "onnx/import/import.h"

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
  explicit ModelReader(const std::string& path) : file_(path) {}

  ImportedNet run() {
    merge_gelu(file_.graph(), file_);
    remove_dead_nodes(file_.graph());
    const onnx::GraphProto& graph = file_.graph();
    net_.net.net.set_name(graph.name());
    for (const onnx::TensorProto& tensor : graph.initializer()) values_[tensor.name()].tensor = &tensor;
    for (const onnx::ValueInfoProto& output : graph.output()) net_.outputs.insert(output.name());
    for (const onnx::ValueInfoProto& input : graph.input())
      if (!values_.contains(input.name())) add_input(input);
    for (const onnx::NodeProto& node : graph.node()) read(node);
    for (const onnx::ValueInfoProto& output : graph.output()) finish_output(output.name());
    merge_layers(net_);
    return std::move(net_.net);
  }

 private:
  /// The first extent is the batch; 1 where it is open.
  void add_input(const onnx::ValueInfoProto& input) {
    caffe::LayerParameter layer = NodeReader::layer("Input");
    auto& shape = *layer.mutable_input_param()->add_shape();
    const auto& dims = input.type().tensor_type().shape();
    if (!input.type().has_tensor_type() || !input.type().tensor_type().has_shape())
      file_.fail("input '" + input.name() + "' has no shape", "export the model with one");
    for (int axis = 0; axis < dims.dim_size(); ++axis) {
      const bool known = dims.dim(axis).has_dim_value() && dims.dim(axis).dim_value() > 0;
      if (!known && axis > 0)
        file_.fail("input '" + input.name() + "': axis " + std::to_string(axis) + " has no extent",
                   "only the batch, the first axis, may be open: export the model with a fixed size of images");
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
  NetBuilder net_;
  Values values_;
};

}  // namespace

ImportedNet import_model(const std::string& path) {
  try {
    return ModelReader(path).run();
  } catch (const std::bad_alloc&) {
    throw file_error(ExitCode::kNet, path, "damaged: it needs more memory than a model of its size should");
  }
}

}  // namespace cortado::importing
