#pragma once

// An object of a class that a user wrote in Python, by the interface of bindings/python_layers/module.h. Its library is
// loaded when the first one is made.

#include <optional>
#include <string>
#include <vector>

#include "bindings/python_layers/module.h"
#include "core/error.h"
#include "core/shape.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// The module cannot be run, here and now: it is not there, cannot be imported, or nothing is that runs Python.
class PythonMissing : public FieldError {
 public:
  using FieldError::FieldError;
};

class PythonObject {
 public:
  enum class Method { kSetup, kReshape, kForward, kBackward };
  enum class Kind { kBottom, kTop, kWeight };

  /// Of `config`, which has a python_param. Throws PythonMissing, and FieldError for python_param.layer.
  PythonObject(const caffe::LayerParameter& config, caffe::Phase phase);
  ~PythonObject();
  PythonObject(const PythonObject&) = delete;
  PythonObject& operator=(const PythonObject&) = delete;

  /// Memory of the host that the object sees; null: zeros of its own.
  struct Memory {
    float *data = nullptr, *diff = nullptr;
    bool data_changes = false, diff_changes = false;
  };
  void bind(Kind kind, size_t i, const Shape& shape, const Memory& memory);

  /// Throws FieldError("python_param.layer") with the traceback where the method raises an exception.
  void call(Method method, const std::vector<bool>& propagate_down = {});

  /// As the object left it; none: it gave none.
  std::optional<Shape> shape(Kind kind, size_t i) const;
  /// How many weights setup() added. There cannot be more from now on.
  size_t weights();
  /// What setup() wrote into a weight.
  std::vector<float> weight_values(size_t i) const;
  /// Whether the class says that its tops have another number of rows in each pass.
  bool rows_vary() const;
  /// The user's own object: a new reference to a PyObject.
  void* instance() const;
  /// From now on the object of `other`, with what it keeps, works here too: of a net that was made anew.
  void adopt(const PythonObject& other);

 private:
  const CortadoPython* python_;
  CortadoPythonLayer* layer_ = nullptr;
};

/// A layer that computes by such an object.
class WrittenInPython {
 public:
  virtual ~WrittenInPython() = default;
  /// Null where it is not run.
  virtual PythonObject* object() = 0;
};

}  // namespace cortado
