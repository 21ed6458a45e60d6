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
                                      int threads, const std::string& device, bool observe) {
  SolverOptions options;
  options.snapshot = snapshot;
  options.weights = names_in(weights);
  options.observed = observe;
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

}  // namespace

void add_solver(py::module_& module) {
  module.def(
      "read_solver", [](const py::object& path) { return read_solver(path_in(path)).solver.Utf8DebugString(); },
      "file"_a, "A solver's file as text of today's form.");
  py::class_<Training, std::shared_ptr<Training>>(module, "Solver", "A training, as a solver's prototxt describes it.")
      .def(py::init(&open_solver), "file"_a, py::kw_only(), "snapshot"_a = "", "weights"_a = py::none(),
           "threads"_a = 0, "device"_a = "cpu", "observe"_a = false,
           "`snapshot`: a .solverstate to go on from, bit for bit, or 'auto': the newest one, if there is any; "
           "`weights`: files to start from; `observe`: every blob and gradient of its nets may be read and set.")
      .def("step", &Training::step, "iterations"_a = 1,
           "So many iterations, with the tests and snapshots that fall among them. False: early_stop or stop() ended "
           "them. Ctrl-C ends them after the iteration under way.")
      .def("apply_update", &Training::apply_update,
           "With observe=True: one iteration's update by the gradients that the net has, from passes that were run one "
           "by one.")
      .def("run", &Training::run, "Up to the solver's end, with a snapshot.")
      .def("snapshot", &Training::snapshot)
      .def("stop", &Training::stop, "From another thread: run() and step() end soon, run() with a snapshot.")
      .def(
          "close", &Training::close,
          "Gives its memory back, and its snapshot_prefix, which one process at a time has from its first snapshot on. "
          "Also at the end of a with.")
      .def("__enter__", [](const std::shared_ptr<Training>& training) { return training; })
      .def("__exit__", [](Training& training, const py::args&) { training.close(); })
      .def("on_gradients", &Training::set_on_gradients, "call"_a,
           "With observe=True, on the CPU: called before each update, when gradients are whole and may be changed.")
      .def_property_readonly("iteration", [](Training& training) { return training.solver().iter(); })
      .def_property_readonly(
          "loss", [](Training& training) { return training.solver().loss(); }, "Of the latest iteration.")
      .def_property_readonly(
          "rate", [](Training& training) { return training.solver().progress().rate; }, "Of the latest iteration.")
      .def_property_readonly(
          "net",
          [](const std::shared_ptr<Training>& training) -> std::shared_ptr<NetHandle> {
            return std::make_shared<SolverNet>(training, 0);
          },
          "The net that learns.")
      .def_property_readonly("test_nets", &test_nets);
}

}  // namespace cortado::pymodule
