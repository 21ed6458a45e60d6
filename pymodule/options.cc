#include "pymodule/options.h"

#include "core/error.h"

namespace py = pybind11;

namespace cortado::pymodule {

Device device_named(const std::string& name) {
  if (name == "cpu") return {};
  if (name == "simulated") return {DeviceKind::kSimulated, 0};
  const std::string number = name.starts_with("cuda:") ? name.substr(5) : "";
  if (number.empty() || number.size() > 4 || number.find_first_not_of("0123456789") != std::string::npos)
    throw Error(ExitCode::kUsage, "there is no device '" + name + "'", "cpu, cuda:0 or simulated");
  return {DeviceKind::kCuda, std::stoi(number)};
}

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
