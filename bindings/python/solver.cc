#include <pybind11/stl.h>

#include "bindings/python/classes.h"
#include "bindings/python/net_handle.h"
#include "bindings/python/options.h"
#include "proto/files/read_text.h"

namespace py = pybind11;
using namespace py::literals;

namespace cortado::pymodule {

namespace {

std::shared_ptr<Training> open_solver(const py::object& path, const std::string& snapshot, const py::object& weights,
                                      int threads, const std::string& device, bool observe, bool keep_updates) {
  SolverOptions options;
  options.snapshot = snapshot;
  options.weights = names_in(weights);
  options.observed = observe;
  options.keeps_updates = keep_updates;
  options.shares_prefix = true;
  SolverFile file = read_solver(path_in(path));
  const py::gil_scoped_release elsewhere;
  return std::make_shared<Training>(std::move(file), options, threads, device);
}

std::vector<std::shared_ptr<NetHandle>> test_nets(const std::shared_ptr<Training>& training) {
  std::vector<std::shared_ptr<NetHandle>> nets;
  for (size_t i = 1; i < training->nets(); ++i) nets.push_back(std::make_shared<SolverNet>(training, i));
  return nets;
}

/// The schema of scripts has one device_id, as Caffe's: the first, which is the one that is used.
std::string solver_text(const py::object& path) {
  caffe::SolverParameter solver = read_solver(path_in(path)).solver;
  if (solver.device_id_size() > 1) solver.mutable_device_id()->Truncate(1);
  return solver.Utf8DebugString();
}

}  // namespace

void add_solver(py::module_& module) {
  module.def("read_solver", &solver_text, "file"_a,
             "The text of a solver file, with old fields converted to current ones.");
  py::class_<Training, std::shared_ptr<Training>>(module, "Solver", "A training, described by a solver's prototxt.")
      .def(py::init(&open_solver), "file"_a, py::kw_only(), "snapshot"_a = "", "weights"_a = py::none(),
           "threads"_a = 0, "device"_a = "cpu", "observe"_a = false, "keep_updates"_a = false,
           "`snapshot`: a .solverstate to resume from, or 'auto' for the newest one, if any; `weights`: files with "
           "initial weights; `threads`: 0 for all cores; `observe`: makes every blob and gradient of its nets readable "
           "and writable; `keep_updates`: with observe=True, an update leaves in the gradients of weights what it "
           "subtracted from the weights.")
      .def("step", &Training::step, "iterations"_a = 1,
           "Runs iterations, with the tests and snapshots that are due. Returns false if early_stop or stop() ended "
           "them. Ctrl-C ends them after the current iteration.")
      .def("apply_update", &Training::apply_update,
           "With observe=True: applies one update, from the gradients of passes that the caller has run.")
      .def("run", &Training::run, "Trains to the solver's end, and writes a snapshot.")
      .def("snapshot", &Training::snapshot, "Writes a snapshot.")
      .def("stop", &Training::stop,
           "Call it from another thread: run() and step() end after the current iteration, run() with a snapshot.")
      .def("close", &Training::close,
           "Releases the memory and the snapshot_prefix, which one process owns from its first snapshot on. The end of "
           "a "
           "with statement does the same.")
      .def("__enter__", [](const std::shared_ptr<Training>& training) { return training; })
      .def("__exit__", [](Training& training, const py::args&) { training.close(); })
      .def("on_gradients", &Training::set_on_gradients, "call"_a,
           "With observe=True, on the CPU: sets a function that is called before each update and may change gradients.")
      .def_property_readonly(
          "iteration", [](Training& training) { return training.solver().iter(); }, "The number of iterations so far.")
      .def_property_readonly(
          "loss", [](Training& training) { return training.solver().loss(); }, "The loss of the latest iteration.")
      .def_property_readonly(
          "rate", [](Training& training) { return training.solver().progress().rate; },
          "The learning rate of the latest iteration.")
      .def_property_readonly(
          "net",
          [](const std::shared_ptr<Training>& training) -> std::shared_ptr<NetHandle> {
            return std::make_shared<SolverNet>(training, 0);
          },
          "The training net.")
      .def_property_readonly("test_nets", &test_nets, "The test nets.");
}

}  // namespace cortado::pymodule
