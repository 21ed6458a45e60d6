#pragma once

#include <map>
#include <string>
#include <vector>

#include "proto/files/read_text.h"

namespace cortado {

/// Layer types that classes in Python compute, named as TYPE=MODULE.CLASS on a command line. Layers of such a type
/// become Python layers, whether the type is known or not.
class PythonTypes {
 public:
  PythonTypes() = default;
  /// Throws Error(kUsage) for invalid syntax; messages begin with `flag`.
  PythonTypes(const std::vector<std::string>& texts, const std::string& flag);

  bool empty() const { return classes_.empty(); }
  /// Replaces the layers, and drops the errors of their options. param_str is the layer's options as text: that of
  /// python_param, else the content of its message `..._param`, known or not.
  void apply(NetFile& file) const;

 private:
  struct PythonClass {
    std::string module, name;
  };

  std::map<std::string, PythonClass> classes_;  ///< by type
};

}  // namespace cortado
