#include "layers/common/data/python_object.h"

#include <dlfcn.h>

#include "core/process/program_path.h"

namespace cortado {

namespace {

constexpr const char* kLibrary = "libcortado_python.so";

CortadoPythonText into(std::string& text) {
  return {[](void* user, const char* words, size_t size) { static_cast<std::string*>(user)->assign(words, size); },
          &text};
}

bool has(const std::string& text, const char* words) { return text.find(words) != std::string::npos; }

struct Loaded {
  const CortadoPython* python = nullptr;
  std::string why_not, hint;
};

/// Loaded with global symbols, because NumPy's libraries need Python's.
Loaded load() {
  const std::string path = companion_path(kLibrary);
  if (path.empty())
    return {nullptr, std::string("this build does not run Python: ") + kLibrary + " is not next to the program",
            "apt install python3-dev python3-numpy, then build again"};
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    const std::string why = ::dlerror();
    // The library of a wheel does not link CPython: it uses the interpreter that imported it.
    return has(why, "undefined symbol: _Py") || has(why, "undefined symbol: Py")
               ? Loaded{nullptr, "the program of a wheel does not run layers in Python",
                        "load the net in a script: import caffe; caffe.Net('deploy.prototxt', caffe.TEST)"}
               : Loaded{nullptr, why, "apt install python3-dev python3-numpy"};
  }
  const auto start = reinterpret_cast<decltype(&cortado_python)>(::dlsym(library, "cortado_python"));
  if (!start) return {nullptr, path + " has a different version", "build again"};
  Loaded loaded;
  loaded.python = start(into(loaded.why_not));
  if (!loaded.python) loaded.hint = "apt install python3-numpy; check PYTHONHOME and PYTHONPATH";
  return loaded;
}

const CortadoPython* loaded_python() {
  static const Loaded loaded = load();
  if (!loaded.python) throw PythonMissing("type", loaded.why_not, loaded.hint);
  return loaded.python;
}

std::vector<unsigned char> in_place_tops(const caffe::LayerParameter& config) {
  std::vector<unsigned char> in_place;
  for (int i = 0; i < config.top_size(); ++i)
    in_place.push_back(i < config.bottom_size() && config.top(i) == config.bottom(i));
  return in_place;
}

/// Translates Python's errors to this program's errors, with hints.
[[noreturn]] void throw_failure(int status, const std::string& text) {
  if (status == kCortadoPythonNoModule) {
    std::string hint;
    if (has(text, "is not in the working folder")) hint = "run in the module's folder, or add the folder to PYTHONPATH";
    if (has(text, "SyntaxError") || has(text, "TabError")) hint = "port the module to Python 3";
    throw PythonMissing("python_param.module", text, hint);
  }
  const bool writes = has(text, " is read-only");
  throw FieldError("python_param.layer", text,
                   writes ? "modify a copy: bottoms, gradients of tops and, in tests, weights are read-only" : "");
}

}  // namespace

PythonObject::PythonObject(const caffe::LayerParameter& config, caffe::Phase phase) : python_(loaded_python()) {
  const caffe::PythonParameter& param = config.python_param();
  const std::vector<unsigned char> in_place = in_place_tops(config);
  const std::string& words = param.has_param_str() ? param.param_str() : param.param_str_();
  const CortadoPythonOptions options = {
      param.module().c_str(), param.layer().c_str(), words.c_str(),  phase == caffe::TRAIN ? 0 : 1,
      config.bottom_size(),   config.top_size(),     in_place.data()};
  int status = kCortadoPythonOk;
  std::string text;
  layer_ = python_->make(&options, &status, into(text));
  if (!layer_) throw_failure(status, text);
}

PythonObject::~PythonObject() { python_->drop(layer_); }

void PythonObject::bind(Kind kind, size_t i, const Shape& shape, const Memory& memory) {
  const CortadoPythonBlob blob = {shape.dims().data(), shape.axes(),        memory.data,
                                  memory.diff,         memory.data_changes, memory.diff_changes};
  if (python_->bind(layer_, int(kind), int(i), &blob) != kCortadoPythonOk)
    throw_internal("Python rejected the memory of a blob");
}

void PythonObject::call(Method method, const std::vector<bool>& propagate_down) {
  const std::vector<unsigned char> flags(propagate_down.begin(), propagate_down.end());
  std::string text;
  const int status = python_->call(layer_, int(method), flags.empty() ? nullptr : flags.data(), into(text));
  if (status != kCortadoPythonOk) throw_failure(status, text);
}

std::optional<Shape> PythonObject::shape(Kind kind, size_t i) const {
  int64_t dims[kCortadoPythonMaxAxes];
  const int axes = python_->shape(layer_, int(kind), int(i), dims);
  if (axes < 0) return std::nullopt;
  return Shape(std::vector<int64_t>(dims, dims + axes));
}

size_t PythonObject::weights() { return size_t(python_->weights(layer_)); }

std::vector<float> PythonObject::weight_values(size_t i) const {
  std::vector<float> values(size_t(shape(Kind::kWeight, i)->count()));
  python_->weight_values(layer_, int(i), values.data());
  return values;
}

bool PythonObject::rows_vary() const { return python_->rows_vary(layer_) != 0; }

void* PythonObject::instance() const { return python_->instance(layer_); }

void PythonObject::adopt(const PythonObject& other) {
  if (python_->adopt(layer_, other.layer_) != kCortadoPythonOk) throw_internal("cannot transfer a Python layer");
}

}  // namespace cortado
