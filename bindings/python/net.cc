#include <pybind11/stl.h>

#include <algorithm>

#include "bindings/python/arrays.h"
#include "bindings/python/classes.h"
#include "bindings/python/net_handle.h"
#include "bindings/python/options.h"
#include "core/device.h"
#include "core/text/text.h"
#include "layers/common/data/python_object.h"
#include "solvers/snapshot.h"

namespace py = pybind11;
using namespace py::literals;

namespace cortado::pymodule {

namespace {

using Handle = std::shared_ptr<NetHandle>;

caffe::NetState state_of(const std::string& phase, int level, const std::vector<std::string>& stages) {
  caffe::NetState state;
  caffe::Phase value;
  if (!caffe::Phase_Parse(phase, &value))
    throw Error(ExitCode::kUsage, "phase must be 'TRAIN' or 'TEST', not '" + phase + "'");
  state.set_phase(value);
  state.set_level(level);
  for (const std::string& stage : stages) state.add_stage(stage);
  return state;
}

void load(NetHandle& handle, const py::object& weights) {
  for (const std::string& path : names_in(weights)) handle.net().load_weights(read_weights(path), path);
}

Handle open_net(const py::object& model, const py::object& weights, const std::string& phase, int level,
                const std::vector<std::string>& stages, int threads, const std::string& device, uint64_t seed) {
  const NetOptions options{state_of(phase, level, stages), threads, seed, device_named(device)};
  const auto net = std::make_shared<OwnNet>(read_net(path_in(model)), options);
  load(*net, weights);
  return net;
}

// Layers

const std::vector<graph::SourceLayer>& layers_of(const Net& net) { return net.plan().graph.layers; }

size_t layer_named(const Net& net, const std::string& name) {
  const int found = net.plan().graph.source_named(name);
  if (found >= 0) return size_t(found);
  std::vector<std::string> names;
  for (const graph::SourceLayer& layer : layers_of(net)) names.push_back(layer.config->name());
  throw Error(ExitCode::kUsage, "the net has no layer '" + name + "'", did_you_mean(name, names));
}

py::list list_of(const google::protobuf::RepeatedPtrField<std::string>& names) {
  py::list list;
  for (const std::string& name : names) list.append(name);
  return list;
}

py::list layers(NetHandle& handle) {
  py::list list;
  for (const graph::SourceLayer& layer : layers_of(handle.net())) {
    const caffe::LayerParameter& config = *layer.config;
    list.append(py::make_tuple(config.name(), config.type(), list_of(config.bottom()), list_of(config.top())));
  }
  return list;
}

/// The Python object of a Python layer; None for others.
py::object python_object(NetHandle& handle, const std::string& name) {
  const Net& net = handle.net();
  const int source = int(layer_named(net, name));
  for (const graph::Node& node : net.plan().graph.nodes) {
    if (std::find(node.sources.begin(), node.sources.end(), source) == node.sources.end()) continue;
    auto* written = node.layer->roles().python;
    if (written && written->object())
      return py::reinterpret_steal<py::object>(static_cast<PyObject*>(written->object()->instance()));
  }
  return py::none();
}

std::vector<std::string> outputs(NetHandle& handle) { return handle.net().plan().graph.output_names(); }

// Blobs

std::vector<std::string> blobs(NetHandle& handle) {
  const Net& net = handle.net();
  if (net.plan().graph.options.observed) return handle.open().blobs();
  std::vector<std::string> kept;
  for (const auto& [name, value] : net.plan().graph.names)
    if (net.has_blob(name)) kept.push_back(name);
  return kept;
}

float loss_weight(const Net& net, const std::string& blob) {
  net.blob_shape(blob);  // throws for an unknown blob
  const graph::Graph& graph = net.plan().graph;
  return graph.value(graph.names.at(blob)).loss_weight;
}

void require_shape(const std::string& what, const Shape& wanted, const Given& values) {
  if (shape_of(values) == wanted) return;
  throw Error(ExitCode::kData,
              what + " has shape " + wanted.str() + ", but the array has shape " + shape_of(values).str());
}

Shape shape_of_blob(NetHandle& handle, const std::string& blob) {
  const Net& net = handle.net();
  return net.plan().graph.options.observed ? handle.open_for(blob).shape(blob) : net.blob_shape(blob);
}

py::array_t<float> part_of(NetHandle& handle, const std::string& blob, BlobPart part) {
  const Net& net = handle.net();
  const Shape planned = net.blob_shape(blob);  // throws for an unknown blob
  if (part == BlobPart::kValues && !net.plan().graph.options.observed && net.has_blob(blob))
    return to_python(net.read_blob(blob), planned);
  const ObservedNet& observed = handle.open_for(blob);
  const Shape& shape = observed.shape(blob);
  std::vector<float> values(size_t(shape.count()));
  observed.read(blob, part, values.data());
  return to_python(std::move(values), shape);
}

void set_part(NetHandle& handle, const std::string& blob, const Given& values, BlobPart part) {
  ObservedNet& observed = handle.open_for(blob);
  require_shape("blob '" + blob + "'", observed.shape(blob), values);
  observed.write(blob, part, values.data());
}

// Weights

graph::WeightId weight_of(const Net& net, const std::string& layer, int64_t index) {
  const std::vector<graph::WeightId>& weights = layers_of(net)[layer_named(net, layer)].weights;
  if (index >= 0 && size_t(index) < weights.size()) return weights[size_t(index)];
  throw Error(ExitCode::kUsage, layer_text(layer) + " has " + std::to_string(weights.size()) + " weights");
}

void require_observed(const Net& net) {
  if (net.plan().graph.options.observed) return;
  throw Error(ExitCode::kUsage, "gradients are not kept", "use Solver(..., observe=True)");
}

py::array_t<float> weight_part(const Net& net, const std::string& layer, int64_t index, BlobPart part) {
  const graph::WeightId id = weight_of(net, layer, index);
  const Shape& shape = net.plan().graph.weight(id).spec.shape;
  std::vector<float> values(size_t(shape.count()));
  if (part == BlobPart::kValues)
    net.read_weight(id, values.data());
  else if (require_observed(net); net.has_weight_gradient(id))
    net.read_weight_gradient(id, values.data());
  return to_python(std::move(values), shape);
}

void set_weight_part(Net& net, const std::string& layer, int64_t index, const Given& values, BlobPart part) {
  const graph::WeightId id = weight_of(net, layer, index);
  require_shape(layer_text(layer) + " blob " + std::to_string(index), net.plan().graph.weight(id).spec.shape, values);
  if (part == BlobPart::kValues) return net.write_weight(id, values.data());
  require_observed(net);
  if (net.has_weight_gradient(id)) net.write_weight_gradient(id, values.data());
}

/// A weight, independent of the net it came from: it keeps its memory if that net later shares others.
class LastingWeight {
 public:
  LastingWeight(NetHandle& handle, std::string layer, int64_t index)
      : holder_(handle.weights()), layer_(std::move(layer)), index_(index) {}

  py::array_t<float> read() const { return weight_part(holder_->net(), layer_, index_, BlobPart::kValues); }
  void write(const Given& values) const { set_weight_part(holder_->net(), layer_, index_, values, BlobPart::kValues); }
  uintptr_t place() const {
    const Net& net = holder_->net();
    return reinterpret_cast<uintptr_t>(net.weight_place(weight_of(net, layer_, index_)));
  }

 private:
  std::shared_ptr<WeightHolder> holder_;
  std::string layer_;
  int64_t index_;
};

py::dict params(NetHandle& handle) {
  py::dict all;
  for (const graph::SourceLayer& layer : layers_of(handle.net())) {
    py::list weights;
    for (size_t k = 0; k < layer.weights.size(); ++k)
      weights.append(weight_part(handle.net(), layer.config->name(), int64_t(k), BlobPart::kValues));
    if (!layer.weights.empty()) all[py::str(layer.config->name())] = weights;
  }
  return all;
}

py::dict param_shapes(NetHandle& handle) {
  py::dict all;
  const graph::Graph& graph = handle.net().plan().graph;
  for (const graph::SourceLayer& layer : graph.layers) {
    py::list shapes;
    for (const graph::WeightId id : layer.weights) shapes.append(to_python(graph.weight(id).spec.shape));
    if (!layer.weights.empty()) all[py::str(layer.config->name())] = shapes;
  }
  return all;
}

// Passes

struct Range {
  size_t first, last;
};

/// None means the first or the last layer.
Range range_of(const ObservedNet& net, const py::object& first, const py::object& last) {
  const auto layer = [&](const py::object& name, size_t otherwise) {
    return name.is_none() ? otherwise : layer_named(net.net(), name.cast<std::string>());
  };
  const Range range{layer(first, 0), layer(last, net.layers() - 1)};
  if (range.first <= range.last) return range;
  throw Error(ExitCode::kUsage,
              layer_text(last.cast<std::string>()) + " is before " + layer_text(first.cast<std::string>()));
}

double forward(NetHandle& handle, const py::object& start, const py::object& end) {
  const Range range = range_of(handle.open(), start, end);
  ObservedNet& net = handle.open_up_to(range.last);
  const py::gil_scoped_release elsewhere;
  if (range.first == 0) handle.begin_pass();
  net.forward(range.first, range.last);
  return net.net().loss();
}

void backward(NetHandle& handle, const py::object& start, const py::object& end) {
  const Range range = range_of(handle.open(), end, start);
  ObservedNet& net = handle.open_up_to(range.last);
  const py::gil_scoped_release elsewhere;
  net.backward(range.first, range.last);
}

void reshape(NetHandle& handle, const py::kwargs& inputs) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, shape] : inputs) shapes[name.cast<std::string>()] = Shape(shape.cast<std::vector<int64_t>>());
  const py::gil_scoped_release elsewhere;
  handle.reshape(shapes);
}

// Files

void save_binary(NetHandle& handle, const py::object& path) { write_weights(path_in(path), handle.net().to_proto()); }

void save_hdf5(NetHandle& handle, const py::object& path) {
  write_net_hdf5(path_in(path), handle.net(), false, Numbers::kAny);
}

void save(NetHandle& handle, const py::object& path) {
  path_in(path).ends_with(".h5") ? save_hdf5(handle, path) : save_binary(handle, path);
}

/// Whether all layers that both nets have share their weights already.
bool shares_already(const Net& net, const Net& other) {
  const auto of_both = [&](const graph::SourceLayer& layer) {
    return other.plan().graph.source_named(layer.config->name());
  };
  for (const graph::SourceLayer& layer : layers_of(net)) {
    const int theirs = of_both(layer);
    if (theirs < 0) continue;
    const std::vector<graph::WeightId>& weights = other.plan().graph.source(theirs).weights;
    if (weights.size() != layer.weights.size()) return false;
    for (size_t k = 0; k < weights.size(); ++k)
      if (net.weight_place(layer.weights[k]) != other.weight_place(weights[k])) return false;
  }
  return true;
}

void share(NetHandle& handle, NetHandle& other) {
  if (shares_already(handle.net(), other.net())) return;
  const auto own = dynamic_cast<OwnNet*>(&handle);
  if (!own)
    throw Error(ExitCode::kUsage, "the nets of a solver cannot share another net's weights",
                "copy them with save() and load(), or let the other net share the solver's");
  own->share(other);
}

}  // namespace

void add_net(py::module_& module) {
  py::class_<LastingWeight>(module, "Weight", "The current values of one weight of a net.")
      .def("read", &LastingWeight::read, "Returns a copy of the values.")
      .def("write", &LastingWeight::write, "values"_a, "Sets the values.")
      .def_property_readonly("place", &LastingWeight::place,
                             "A number that is equal for all nets and layers that share the weight.");
  using Class = py::class_<NetHandle, Handle>;
  constexpr BlobPart values = BlobPart::kValues, gradients = BlobPart::kGradients;
  Class(module, "Net", "A net whose blobs, gradients and weights can be read and set between passes.")
      .def(
          py::init(&open_net), "model"_a, "weights"_a = py::none(), py::kw_only(), "phase"_a = "TEST", "level"_a = 0,
          "stages"_a = std::vector<std::string>(), "threads"_a = 0, "device"_a = "cpu", "seed"_a = 1,
          "Opens a prototxt and weights files, which are copied in order by layer name. Without files, fillers set the "
          "weights. `threads`: 0 for all cores.")
      .def_property_readonly("layers", &layers, "Name, type, bottoms and tops of each layer.")
      .def("python_object", &python_object, "layer"_a, "The object of a layer in Python; None for other layers.")
      .def_property_readonly(
          "inputs", [](NetHandle& handle) { return handle.net().input_names(); }, "Names of the inputs.")
      .def_property_readonly("outputs", &outputs, "Names of the blobs that no layer reads.")
      .def_property_readonly("blobs", &blobs, "Names of the blobs that can be read, in the order of the layers.")
      .def_property_readonly("params", &params, "Copies of all weights: a list for each layer with weights.")
      .def_property_readonly("param_shapes", &param_shapes,
                             "Shapes of all weights: a list for each layer with weights.")
      .def(
          "shape", [](NetHandle& handle, const std::string& blob) { return to_python(shape_of_blob(handle, blob)); },
          "blob"_a, "The shape of a blob.")
      .def(
          "loss_weight", [](NetHandle& handle, const std::string& blob) { return loss_weight(handle.net(), blob); },
          "blob"_a, "The factor of the blob in the loss; 0 if it is not part of it.")
      .def(
          "blob", [](NetHandle& handle, const std::string& blob) { return part_of(handle, blob, values); }, "name"_a,
          "A copy of the values after the latest pass.")
      .def(
          "set_blob",
          [](NetHandle& handle, const std::string& blob, const Given& given) { set_part(handle, blob, given, values); },
          "name"_a, "values"_a, "Sets the values that the next layers read.")
      .def(
          "gradient", [](NetHandle& handle, const std::string& blob) { return part_of(handle, blob, gradients); },
          "name"_a, "A copy of the gradient after the latest backward pass.")
      .def(
          "set_gradient",
          [](NetHandle& handle, const std::string& blob, const Given& given) {
            set_part(handle, blob, given, gradients);
          },
          "name"_a, "values"_a, "Sets the gradient that backward() starts from.")
      .def(
          "param",
          [](NetHandle& handle, const std::string& layer, int64_t index) {
            return weight_part(handle.net(), layer, index, values);
          },
          "layer"_a, "index"_a, "A copy of a weight of a layer, by its index.")
      .def(
          "set_param",
          [](NetHandle& handle, const std::string& layer, int64_t index, const Given& given) {
            set_weight_part(handle.net(), layer, index, given, values);
          },
          "layer"_a, "index"_a, "values"_a, "Sets a weight of a layer.")
      .def(
          "weight",
          [](NetHandle& handle, const std::string& layer, int64_t index) {
            return LastingWeight(handle, layer, index);
          },
          "layer"_a, "index"_a, "The weight as an object that stays valid when this net shares other weights later.")
      .def(
          "param_gradient",
          [](NetHandle& handle, const std::string& layer, int64_t index) {
            return weight_part(handle.gradients_of(layer), layer, index, gradients);
          },
          "layer"_a, "index"_a, "A copy of the gradient of a weight.")
      .def(
          "set_param_gradient",
          [](NetHandle& handle, const std::string& layer, int64_t index, const Given& given) {
            set_weight_part(handle.gradients_of(layer), layer, index, given, gradients);
          },
          "layer"_a, "index"_a, "values"_a, "Sets the gradient of a weight.")
      .def("forward", &forward, "start"_a = py::none(), "end"_a = py::none(),
           "Runs the layers from `start` to `end`, both included, and returns the loss.")
      .def(
          "backward", &backward, "start"_a = py::none(), "end"_a = py::none(),
          "Runs backward from `start` down to `end`. Gradients of weights accumulate until clear_param_gradients(), or "
          "until an iteration of the solver begins.")
      .def(
          "clear_param_gradients", [](NetHandle& handle) { handle.clear_weight_gradients(); },
          "Sets the gradients of all weights to 0.")
      .def("reshape", &reshape,
           "Changes the shapes of inputs, given by name. Layers that do not fit are errors when they run.")
      .def("load", &load, "weights"_a, "Copies weights by layer name.")
      .def("save", &save, "path"_a, "Writes a .caffemodel, or an .h5 file.")
      .def("save_binary", &save_binary, "path"_a, "Writes a .caffemodel, whatever the name.")
      .def("save_hdf5", &save_hdf5, "path"_a, "Writes an HDF5 file, whatever the name.")
      .def("share", &share, "other"_a, "Shares the weights of another net: changes in one are visible in both.");
}

}  // namespace cortado::pymodule
