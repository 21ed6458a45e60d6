#include "bindings/python/classes.h"
#include "bindings/python/errors.h"
#include "core/cpu/isa_level.h"
#include "core/log.h"

PYBIND11_MODULE(_cortado, module) {
  if (cortado::kCompiledIsa > cortado::machine_isa())  // our own programs check this before main()
    throw pybind11::import_error("cortado was compiled for a CPU with more instructions than this one has");
  cortado::set_log_level(cortado::Severity::kWarning);  // a solver's log lines are opt-in
  module.attr("__version__") = CORTADO_VERSION;
  cortado::pymodule::add_errors(module);
  cortado::pymodule::add_functions(module);
  cortado::pymodule::add_predictor(module);
  cortado::pymodule::add_net(module);
  cortado::pymodule::add_dataset(module);
  cortado::pymodule::add_solver(module);
}
