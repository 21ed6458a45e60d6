#pragma once

// A model file, and the external files with values of its tensors.

#include <map>
#include <memory>
#include <string>

#include "core/files/mapped_file.h"
#include "onnx/import/constant.h"
#include "onnx/schema.h"

namespace cortado::importing {

class ModelFile {
 public:
  /// Reads and parses the file, and limits this process's memory and time by its size. Throws Error: kIo if it cannot
  /// be read, kNet if it is not a model or its opset is not supported.
  explicit ModelFile(const std::string& path);

  const onnx::GraphProto& graph() const { return model_.graph(); }
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  int64_t opset() const { return opset_; }
  const std::string& path() const { return path_; }

  /// The values of a tensor, inline or external. Throws Error(kNet) if they do not match its shape, their type is not
  /// supported, or they are in a file outside of the model's folder.
  Constant read(const onnx::TensorProto& tensor) const;

  [[noreturn]] void fail(const std::string& message, const std::string& hint = {}) const;

 private:
  void parse();
  void find_opset();
  std::string_view external(const onnx::TensorProto& tensor) const;
  const MappedFile& beside(const std::string& name, const std::string& tensor) const;

  std::string path_;
  onnx::ModelProto model_;
  int64_t opset_ = 0;
  mutable std::map<std::string, std::unique_ptr<MappedFile>> beside_;
};

}  // namespace cortado::importing
