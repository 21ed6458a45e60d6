#include "solvers/solver.h"

#include <optional>

#include "core/device_memory.h"
#include "core/device_name.h"
#include "core/error.h"
#include "core/threads.h"
#include "pymodule/arrays.h"
#include "pymodule/classes.h"
#include "pymodule/options.h"
#include "solvers/check.h"

namespace py = pybind11;
using namespace py::literals;

namespace cortado::pymodule {

namespace {

/// A training and what it needs, in the order in which they go. One thread uses it at a time.
class Training : private TrainObserver {
 public:
  Training(SolverFile file, const SolverOptions& options, int threads, const std::string& device)
      : context_(threads > 0 ? threads : default_threads()) {
    use_threads(context_.threads);
    use_device(context_, device_named(device));
    context_.precision = precision_named(file.solver.precision());
    solver_.reset(new Solver(make_solver(std::move(file), options, context_)));  // it does not move
    solver_->add_observer(this);
  }

  bool step(int64_t iterations) {
    if (iterations < 0) throw Error(ExitCode::kUsage, "iterations are not below 0");
    bool whole = true;
    work([&] { whole = solver().step(iterations, requests_); });
    return whole;
  }
  void run() {
    work([&] { solver().run(requests_); });
  }
  void snapshot() {
    work([&] { solver().snapshot(); });
  }
  void stop() { requests_.fetch_or(kRequestStop); }
  void close() { solver_.reset(); }

  Solver& solver() {
    if (!solver_) throw Error(ExitCode::kUsage, "this training is closed");
    return *solver_;
  }
  Net& net() {
    enter();
    return solver().net();
  }

 private:
  void enter() {
    use_threads(context_.threads);
    cortado::enter(context_);
  }

  /// Without Python's lock. What Ctrl-C raised meanwhile is raised once the iteration under way is done.
  template <typename Work>
  void work(const Work& what) {
    enter();
    {
      const py::gil_scoped_release elsewhere;
      what();
    }
    if (!interrupted_) return;
    interrupted_ = false;
    requests_.fetch_and(~kRequestStop);
    throw py::error_already_set();
  }

  void on_iteration(const Progress&) override {
    const py::gil_scoped_acquire here;
    if (interrupted_ || PyErr_CheckSignals() == 0) return;
    interrupted_ = true;
    requests_.fetch_or(kRequestStop);
  }

  Context context_;
  std::unique_ptr<Solver> solver_;
  Requests requests_{kRequestNothing};
  bool interrupted_ = false;
};

std::unique_ptr<Training> open(const py::object& path, const std::string& snapshot, const py::object& weights,
                               int threads, const std::string& device) {
  SolverOptions options;
  options.snapshot = snapshot;
  options.weights = names_in(weights);
  SolverFile file = read_solver(path_in(path));
  const py::gil_scoped_release elsewhere;
  return std::make_unique<Training>(std::move(file), options, threads, device);
}

py::array_t<float> blob(Training& training, const std::string& name) {
  const Net& net = training.net();
  const Shape shape = net.blob_shape(name);
  return to_python(net.read_blob(name), shape);
}

/// The place of a layer that has weights, among the file's.
size_t layer_named(const Net& net, const std::string& name) {
  std::vector<std::string> names;
  const std::vector<graph::SourceLayer>& layers = net.plan().graph.layers;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].weights.empty()) continue;
    if (layers[i].config->name() == name) return i;
    names.push_back(layers[i].config->name());
  }
  throw Error(ExitCode::kUsage, "no layer '" + name + "' has weights", did_you_mean(name, names));
}

std::vector<BlobFile> weights_of(Net& net, size_t layer) {
  caffe::LayerParameter message;
  net.layer_to_proto(layer, message);
  std::vector<BlobFile> blobs;
  for (const caffe::BlobProto& each : message.blobs()) blobs.push_back(from_message(each, message.name()));
  return blobs;
}

py::dict params(Training& training) {
  Net& net = training.net();
  py::dict all;
  const std::vector<graph::SourceLayer>& layers = net.plan().graph.layers;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].weights.empty()) continue;
    py::list blobs;
    for (BlobFile& each : weights_of(net, i)) blobs.append(to_python(std::move(each.data), each.shape));
    all[py::str(layers[i].config->name())] = blobs;
  }
  return all;
}

void set_param(Training& training, const std::string& layer, int64_t index, const Given& values) {
  Net& net = training.net();
  const size_t place = layer_named(net, layer);
  std::vector<BlobFile> blobs = weights_of(net, place);
  if (index < 0 || size_t(index) >= blobs.size())
    throw Error(ExitCode::kUsage, "layer '" + layer + "' has " + std::to_string(blobs.size()) + " blobs");
  BlobFile& blob = blobs[size_t(index)];
  if (shape_of(values) != blob.shape)
    throw Error(ExitCode::kData, "layer '" + layer + "' blob " + std::to_string(index) + " has shape " +
                                     blob.shape.str() + ", and the array " + shape_of(values).str());
  blob.data = values_of(values);
  net.load_weights({{layer, net.plan().graph.layers[place].config->type(), std::move(blobs)}}, "an array");
}

}  // namespace

void add_solver(py::module_& module) {
  py::class_<Training>(module, "Solver", "A training, as a solver's prototxt describes it.")
      .def(py::init(&open), "file"_a, py::kw_only(), "snapshot"_a = "", "weights"_a = py::none(), "threads"_a = 0,
           "device"_a = "cpu",
           "`snapshot`: a .solverstate to go on from, bit for bit, or 'auto': the newest one, if there is any; "
           "`weights`: files to start from.")
      .def("step", &Training::step, "iterations"_a = 1,
           "So many iterations, with the tests and snapshots that fall among them. False: early_stop or stop() ended "
           "them. Ctrl-C ends them after the iteration under way.")
      .def("run", &Training::run, "Up to the solver's end, with a snapshot.")
      .def("snapshot", &Training::snapshot)
      .def("stop", &Training::stop, "From another thread: run() and step() end soon, run() with a snapshot.")
      .def("close", &Training::close,
           "Gives its memory back, and its snapshot_prefix, which one training at a time has. Also at the end of a "
           "with.")
      .def(
          "__enter__", [](Training& training) -> Training& { return training; }, py::return_value_policy::reference)
      .def("__exit__", [](Training& training, const py::args&) { training.close(); })
      .def_property_readonly("iteration", [](Training& training) { return training.solver().iter(); })
      .def_property_readonly(
          "loss", [](Training& training) { return training.solver().loss(); }, "Of the latest iteration.")
      .def("blob", &blob, "name"_a, "A blob of the training net as the latest iteration left it.")
      .def_property_readonly("params", &params, "Per layer that has weights, a list of copies of them.")
      .def("set_param", &set_param, "layer"_a, "index"_a, "values"_a, "Changes a weight.");
}

}  // namespace cortado::pymodule
