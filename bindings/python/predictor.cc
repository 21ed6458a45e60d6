#include "net/predictor.h"

#include "bindings/python/arrays.h"
#include "bindings/python/classes.h"
#include "bindings/python/options.h"
#include "core/device.h"
#include "core/precision.h"

namespace py = pybind11;
using namespace py::literals;

namespace cortado::pymodule {

namespace {

std::unique_ptr<Predictor> open(const py::object& model, const py::object& weights, const py::object& outputs,
                                int threads, int64_t batch, const std::string& device, const std::string& precision) {
  PredictorOptions options;
  options.outputs = names_in(outputs);
  options.context = {.threads = threads, .device = device_named(device), .precision = precision_named(precision)};
  options.batch = batch;
  const std::string path = path_in(model);
  const std::vector<std::string> files = names_in(weights);
  const py::gil_scoped_release elsewhere;
  return std::make_unique<Predictor>(path, files, options);
}

py::dict predict(Predictor& predictor, const py::kwargs& inputs) {
  Arrays given, made;
  for (const auto& [name, values] : inputs) {
    const Given array = Given::ensure(values);
    if (!array) throw py::error_already_set();
    given[name.cast<std::string>()] = {shape_of(array), values_of(array)};
  }
  {
    const py::gil_scoped_release elsewhere;
    made = predictor.predict(given);
  }
  py::dict outputs;
  for (auto& [name, array] : made) outputs[py::str(name)] = to_python(std::move(array.values), array.shape);
  return outputs;
}

py::dict inputs_of(const Predictor& predictor) {
  py::dict shapes;
  for (const auto& [name, shape] : predictor.inputs()) shapes[py::str(name)] = to_python(shape);
  return shapes;
}

py::dict outputs_of(const Predictor& predictor) {
  py::dict shapes;
  for (const std::string& name : predictor.outputs()) shapes[py::str(name)] = to_python(predictor.output_shape(name));
  return shapes;
}

}  // namespace

void add_predictor(py::module_& module) {
  py::class_<Predictor>(module, "Predictor",
                        "A trained net as a function of named arrays. Any number of threads may call it at once.")
      .def(py::init(&open), "model"_a, "weights"_a = py::none(), py::kw_only(), "outputs"_a = py::none(),
           "threads"_a = 0, "batch"_a = 0, "device"_a = "cpu", "precision"_a = "fp32",
           "Opens a deploy prototxt and one or several weights files, which are copied in order by layer name. "
           "`outputs`: "
           "names of blobs; the default are those that no layer reads; `threads`: of one call, 0 for all cores; "
           "`batch`: "
           "images in most calls.")
      .def("predict", &predict,
           "Returns the outputs by name for inputs by name. Inputs may have any shape that the net accepts.")
      .def_property_readonly("inputs", &inputs_of, "Names of the inputs with the shapes that the file declares.")
      .def_property_readonly("outputs", &outputs_of, "Names of the outputs with their shapes for `batch`.");
}

}  // namespace cortado::pymodule
