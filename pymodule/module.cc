#include "core/log.h"
#include "pymodule/classes.h"
#include "pymodule/errors.h"

PYBIND11_MODULE(_cortado, module) {
  cortado::set_log_level(cortado::Severity::kWarning);  // a solver's lines are for those who ask
  module.attr("__version__") = CORTADO_VERSION;
  module.def(
      "set_log_level", [](int level) { cortado::set_log_level(cortado::Severity(std::min(std::max(level, 0), 2))); },
      "0: all lines go to standard error, 1: warnings, 2: errors.");
  cortado::pymodule::add_errors(module);
  cortado::pymodule::add_predictor(module);
  cortado::pymodule::add_solver(module);
}
