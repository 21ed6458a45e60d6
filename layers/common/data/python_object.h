#pragma once

// An object of a class that a user wrote in Python, through the interface of bindings/python_layers/module.h. The
// library of that interface is loaded for the first object.

#include <optional>
#include <string>
#include <vector>

#include "bindings/python_layers/module.h"
#include "core/error.h"
#include "core/shape.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// The module cannot be run: it does not exist, cannot be imported, or Python is not available.
class PythonMissing : public FieldError {
 public:
  using FieldError::FieldError;
};

class PythonObject {
 public:
  enum class Method { kSetup, kReshape, kForward, kBackward };
  enum class Kind { kBottom, kTop, kWeight };

  /// `config` has a python_param. Throws PythonMissing, and FieldError for python_param.layer.
  PythonObject(const caffe::LayerParameter& config, caffe::Phase phase);
  ~PythonObject();
  PythonObject(const PythonObject&) = delete;
  PythonObject& operator=(const PythonObject&) = delete;

  /// Host memory for a blob of the object; null: the object allocates zeros.
  struct Memory {
    float *data = nullptr, *diff = nullptr;
    bool data_changes = false, diff_changes = false;
  };
  void bind(Kind kind, size_t i, const Shape& shape, const Memory& memory);

  /// Throws FieldError("python_param.layer") with the traceback if the method raises an exception.
  void call(Method method, const std::vector<bool>& propagate_down = {});

  /// The shape that the object has set; none: not set.
  std::optional<Shape> shape(Kind kind, size_t i) const;
  /// The number of weights that setup() added. It is final from now on.
  size_t weights();
  /// The values that setup() wrote to a weight.
  std::vector<float> weight_values(size_t i) const;
  /// Whether the class declares that the number of rows of its tops varies.
  bool rows_vary() const;
  /// The user's object: a new reference to a PyObject.
  void* instance() const;
  /// Takes over the object of `other`, with its state, for a net that was rebuilt.
  void adopt(const PythonObject& other);

 private:
  const CortadoPython* python_;
  CortadoPythonLayer* layer_ = nullptr;
};

/// A layer that a Python object implements.
class WrittenInPython {
 public:
  virtual ~WrittenInPython() = default;
  /// Null if it is not run.
  virtual PythonObject* object() = 0;
};

}  // namespace cortado
