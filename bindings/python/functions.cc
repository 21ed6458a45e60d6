#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <map>

#include "bindings/python/classes.h"
#include "bindings/python/options.h"
#include "core/error.h"
#include "core/log.h"
#include "data/image/image.h"
#include "layers/registry.h"

namespace py = pybind11;
using namespace py::literals;

namespace cortado::pymodule {

namespace {

void set_level(int level) { set_log_level(Severity(std::clamp(level, 0, 2))); }

std::vector<std::string> layer_types() {
  std::vector<std::string> names;
  for (const LayerType* type : all_layer_types()) names.push_back(type->name);
  return names;
}

std::map<std::string, std::string> layer_options() {
  std::map<std::string, std::string> fields;
  for (const LayerType* type : all_layer_types()) fields[type->name] = type->options;
  return fields;
}

py::array_t<uint8_t> load_image(const py::object& path, bool color) {
  const std::string file = path_in(path);
  data::Image image;
  {
    const py::gil_scoped_release elsewhere;
    try {
      image = data::read_image(file, color ? data::ColorMode::kColor : data::ColorMode::kGray);
    } catch (const data::SampleError& error) {
      throw Error(ExitCode::kData, file + ": " + error.what());
    }
  }
  py::array_t<uint8_t> pixels({image.height, image.width, image.channels});
  std::copy(image.pixels.begin(), image.pixels.end(), pixels.mutable_data());
  return pixels;
}

}  // namespace

void add_functions(py::module_& module) {
  module.def("set_log_level", &set_level, "level"_a,
             "Lowest severity that is printed to standard error: 0 all, 1 warnings, 2 errors.");
  module.def("layer_types", &layer_types, "The names of all layer types.");
  module.def("layer_options", &layer_options, "For each layer type the name of its options field, or ''.");
  module.def(
      "load_image", &load_image, "path"_a, "color"_a = true,
      "The pixels of an image file as bytes, height x width x channels (blue, green, red), or one grey channel.");
}

}  // namespace cortado::pymodule
