#pragma once

#include <map>
#include <string>
#include <vector>

namespace cortado {

/// A parsed command line of cortado-onnx: COMMAND OPERAND, and flags --name=value or --name.
class Words {
 public:
  /// Throws Error(kUsage) for a name that is not in `names`.
  Words(const std::vector<std::string>& words, const std::vector<std::string>& names);

  const std::vector<std::string>& operands() const { return operands_; }
  bool has(const std::string& name) const { return given_.contains(name); }
  std::string text(const std::string& name) const;                ///< the last value, or ""
  std::vector<std::string> texts(const std::string& name) const;  ///< all values

 private:
  std::vector<std::string> operands_;
  std::map<std::string, std::vector<std::string>> given_;
};

}  // namespace cortado
