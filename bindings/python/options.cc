#include "bindings/python/options.h"

namespace py = pybind11;

namespace cortado::pymodule {

std::string path_in(const py::object& given) {
  return py::module_::import("os").attr("fspath")(given).cast<std::string>();
}

std::vector<std::string> names_in(const py::object& given) {
  if (given.is_none()) return {};
  if (py::isinstance<py::str>(given) || py::hasattr(given, "__fspath__")) return {path_in(given)};
  std::vector<std::string> names;
  for (const py::handle each : given) names.push_back(path_in(py::reinterpret_borrow<py::object>(each)));
  return names;
}

}  // namespace cortado::pymodule
