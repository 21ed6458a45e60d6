#include "bindings/python/errors.h"

#include "core/error.h"
#include "core/field_text.h"

namespace py = pybind11;

namespace cortado::pymodule {

namespace {

PyObject* error_class = nullptr;  // never freed, like the module

void raise(const char* text, ExitCode code) {
  const py::object error = py::reinterpret_borrow<py::object>(error_class)(text);
  error.attr("code") = int(code);
  PyErr_SetObject(error_class, error.ptr());
}

}  // namespace

void add_errors(py::module_& module) {
  error_class = PyErr_NewExceptionWithDoc("cortado.Error",
                                          "An error with its place and a hint; `code` is the program's exit code.",
                                          PyExc_RuntimeError, nullptr);
  module.add_object("Error", py::reinterpret_borrow<py::object>(error_class));
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      raise(error.what(), error.code());
    } catch (const FieldError& error) {
      raise(Error(ExitCode::kUsage, with_field(error), error.hint()).what(), ExitCode::kUsage);
    }
  });
}

}  // namespace cortado::pymodule
