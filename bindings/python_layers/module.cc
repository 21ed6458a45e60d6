#define PY_SSIZE_T_CLEAN
#include "bindings/python_layers/module.h"

#include <Python.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string>

extern const char cortado_caffe_module[];

struct CortadoPythonLayer {
  PyObject* runner;
};

namespace {

PyObject* helper = nullptr;  ///< the module of caffe_module.py

/// Holds the interpreter's lock.
class Gil {
 public:
  Gil() : state_(PyGILState_Ensure()) {}
  ~Gil() { PyGILState_Release(state_); }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Owns a reference, which may be null.
class Ref {
 public:
  explicit Ref(PyObject* object) : object_(object) {}
  ~Ref() { Py_XDECREF(object_); }
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) = delete;
  PyObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_;
};

void tell(const CortadoPythonText& why, const char* text) { why.take(why.user, text, std::strlen(text)); }

/// Formats the current exception as "type: message", and clears it.
std::string take_exception() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  const Ref owns_type(type), owns_value(value), owns_trace(trace);
  if (!type) return "unknown error";
  std::string text = reinterpret_cast<PyTypeObject*>(type)->tp_name;
  const Ref words(value ? PyObject_Str(value) : nullptr);
  const char* utf8 = words ? PyUnicode_AsUTF8(words.get()) : nullptr;
  if (utf8) text += std::string(": ") + utf8;
  PyErr_Clear();
  return text;
}

/// Unpacks a result of caffe_module.py: a status, and an object or bytes for `why`. Returns null if the status is not
/// ok. An exception means out of memory.
PyObject* payload_of(PyObject* result, int* status, const CortadoPythonText& why) {
  PyObject* payload = nullptr;
  if (!result || !PyArg_ParseTuple(result, "iO", status, &payload)) {
    *status = kCortadoPythonFailed;
    tell(why, take_exception().c_str());
    return nullptr;
  }
  if (*status == kCortadoPythonOk) return payload;
  char* text = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(payload, &text, &size) == 0) why.take(why.user, text, size_t(size));
  PyErr_Clear();
  return nullptr;
}

PyObject* list_of_flags(const unsigned char* flags, int count) {
  PyObject* list = PyList_New(count);
  for (int i = 0; list && i < count; ++i) PyList_SetItem(list, i, PyBool_FromLong(flags && flags[i]));
  return list;
}

/// Options are bytes of a file, which may be invalid UTF-8.
PyObject* text_of(const char* bytes) {
  return PyUnicode_DecodeUTF8(bytes, Py_ssize_t(std::strlen(bytes)), "surrogateescape");
}

CortadoPythonLayer* make(const CortadoPythonOptions* options, int* status, CortadoPythonText why) {
  const Gil gil;
  const Ref module(text_of(options->module)), layer(text_of(options->layer)), words(text_of(options->param_str));
  const Ref in_place(list_of_flags(options->in_place, options->tops));
  const Ref result(module && layer && words && in_place
                       ? PyObject_CallMethod(helper, "make", "OOOiiO", module.get(), layer.get(), words.get(),
                                             options->phase, options->bottoms, in_place.get())
                       : nullptr);
  PyObject* runner = payload_of(result.get(), status, why);
  if (!runner) return nullptr;
  Py_INCREF(runner);
  return new CortadoPythonLayer{runner};
}

/// The status of a call without a message.
int status_of(const Ref& result) {
  if (result) return kCortadoPythonOk;
  PyErr_Clear();
  return kCortadoPythonFailed;
}

void drop(CortadoPythonLayer* layer) {
  if (!layer) return;
  const Gil gil;
  status_of(Ref(PyObject_CallMethod(layer->runner, "let_go", nullptr)));
  Py_DECREF(layer->runner);
  delete layer;
}

/// None if `memory` is null.
PyObject* view_of(float* memory, const CortadoPythonBlob& blob, bool changes) {
  if (!memory) Py_RETURN_NONE;
  int64_t bytes = int64_t(sizeof(float));
  for (int i = 0; i < blob.axes; ++i) bytes *= blob.dims[i];
  return PyMemoryView_FromMemory(reinterpret_cast<char*>(memory), Py_ssize_t(bytes),
                                 changes ? PyBUF_WRITE : PyBUF_READ);
}

PyObject* shape_of(const CortadoPythonBlob& blob) {
  if (blob.axes < 0) Py_RETURN_NONE;
  PyObject* shape = PyTuple_New(blob.axes);
  for (int i = 0; shape && i < blob.axes; ++i) PyTuple_SetItem(shape, i, PyLong_FromLongLong(blob.dims[i]));
  return shape;
}

int bind(CortadoPythonLayer* layer, int kind, int index, const CortadoPythonBlob* blob) {
  const Gil gil;
  const Ref shape(shape_of(*blob)), data(view_of(blob->data, *blob, blob->data_changes)),
      diff(view_of(blob->diff, *blob, blob->diff_changes));
  const Ref result(shape && data && diff ? PyObject_CallMethod(layer->runner, "bind", "iiOOO", kind, index, shape.get(),
                                                               data.get(), diff.get())
                                         : nullptr);
  return status_of(result);
}

int call(CortadoPythonLayer* layer, int method, const unsigned char* propagate_down, CortadoPythonText why) {
  const Gil gil;
  const Ref bottoms(PyObject_GetAttrString(layer->runner, "_bottoms"));
  const Ref flags(bottoms ? list_of_flags(propagate_down, int(PyList_Size(bottoms.get()))) : nullptr);
  const Ref result(flags ? PyObject_CallMethod(layer->runner, "call", "iO", method, flags.get()) : nullptr);
  int status = kCortadoPythonOk;
  payload_of(result.get(), &status, why);
  return status;
}

int shape(CortadoPythonLayer* layer, int kind, int index, int64_t dims[kCortadoPythonMaxAxes]) {
  const Gil gil;
  const Ref result(PyObject_CallMethod(layer->runner, "shape", "ii", kind, index));
  if (!result || !PyTuple_Check(result.get())) {
    PyErr_Clear();
    return -1;
  }
  const int axes = int(PyTuple_Size(result.get()));
  for (int i = 0; i < axes && i < kCortadoPythonMaxAxes; ++i)
    dims[i] = PyLong_AsLongLong(PyTuple_GetItem(result.get(), i));
  return axes;
}

int number_from(CortadoPythonLayer* layer, const char* method) {
  const Gil gil;
  const Ref result(PyObject_CallMethod(layer->runner, method, nullptr));
  const long number = result ? PyLong_AsLong(result.get()) : 0;
  PyErr_Clear();
  return int(number);
}

int weights(CortadoPythonLayer* layer) { return number_from(layer, "weights"); }

int rows_vary(CortadoPythonLayer* layer) { return number_from(layer, "rows_vary"); }

int weight_values(CortadoPythonLayer* layer, int index, float* to) {
  const Gil gil;
  const Ref result(PyObject_CallMethod(layer->runner, "weight_values", "i", index));
  char* bytes = nullptr;
  Py_ssize_t size = 0;
  if (result && PyBytes_AsStringAndSize(result.get(), &bytes, &size) == 0) std::memcpy(to, bytes, size_t(size));
  return status_of(result);
}

void* instance(CortadoPythonLayer* layer) {
  const Gil gil;
  return PyObject_GetAttrString(layer->runner, "layer");
}

int adopt(CortadoPythonLayer* layer, CortadoPythonLayer* other) {
  const Gil gil;
  return status_of(Ref(PyObject_CallMethod(layer->runner, "adopt", "O", other->runner)));
}

/// Keeps the GIL, so that no Python thread runs while the program is destroyed.
void at_exit() {
  PyGILState_Ensure();
  const Ref result(PyObject_CallMethod(helper, "at_exit", nullptr));
  PyErr_Clear();
}

/// Starts the Python version that this was built for, whichever is first in PATH. Signals stay the program's: Ctrl-C
/// writes a snapshot and stops.
std::string start_interpreter() {
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.install_signal_handlers = 0;
  config.parse_argv = 0;
  PyStatus status = PyConfig_SetBytesString(&config, &config.program_name, CORTADO_PYTHON);
  if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (!PyStatus_Exception(status)) return {};
  return std::string("cannot start Python: ") + (status.err_msg ? status.err_msg : "unknown reason");
}

/// The folder of this library.
std::string own_folder() {
  Dl_info info = {};
  if (::dladdr(reinterpret_cast<void*>(&cortado_python), &info) == 0 || !info.dli_fname) return ".";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

/// Loads `caffe_module.py`, which registers `caffe` before another package of that name can be imported.
std::string load_helper() {
  const Ref code(Py_CompileString(cortado_caffe_module, "<cortado>", Py_file_input));
  PyObject* module = code ? PyImport_ExecCodeModuleEx("caffe.python_layer", code.get(), "<cortado>") : nullptr;
  const Ref begun(module ? PyObject_CallMethod(module, "begin", "s", own_folder().c_str()) : nullptr);
  if (!begun) return take_exception();
  helper = module;
  return {};
}

/// Within a Python process, `caffe` is the package next to the loaded module, and signals, folders and the exit belong
/// to the process.
std::string join_interpreter() {
  const Gil gil;
  helper = PyImport_ImportModule("caffe.python_layer");
  return helper ? "" : take_exception();
}

/// Returns the error, or "".
std::string start() {
  if (Py_IsInitialized()) return join_interpreter();
  std::string fault = start_interpreter();
  if (!fault.empty()) return fault;
  fault = load_helper();
  PyEval_SaveThread();  // each call acquires the GIL itself
  if (fault.empty()) std::atexit(at_exit);
  return fault;
}

const CortadoPython functions = {make, drop, bind, call, shape, weights, weight_values, rows_vary, instance, adopt};

}  // namespace

const CortadoPython* cortado_python(CortadoPythonText why) {
  static const std::string fault = start();
  if (fault.empty()) return &functions;
  tell(why, fault.c_str());
  return nullptr;
}
