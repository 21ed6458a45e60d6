#include "onnx/import/model_file.h"

#include <charconv>
#include <filesystem>
#include <limits>

#include "core/error.h"
#include "core/field_text.h"
#include "core/files/file.h"
#include "core/process/process_limits.h"
#include "formats/helper_process.h"
#include "onnx/import/read_tensor.h"
#include "onnx/whole_layers.h"

namespace cortado::importing {

namespace {

constexpr int64_t kOldest = 9, kNewest = 28;

/// A parsed model takes a small multiple of its size; a hostile one might take a hundred times as much.
void limit_by(int64_t bytes) {
  limit_memory((int64_t(1) << 30) + 8 * bytes);
  limit_seconds(60 + bytes / 1'000'000);
}

int64_t number(const std::string& text) {
  int64_t value = -1;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size() ? value : -1;
}

}  // namespace

ModelFile::ModelFile(const std::string& path) : path_(path) {
  parse();
  find_opset();
}

void ModelFile::parse() {
  const MappedFile file(path_);
  if (file.size() > std::numeric_limits<int32_t>::max())
    fail(std::to_string(file.size()) + " bytes exceed the limit of a model file, 2 GiB");
  limit_by(file.size());
  const bool parsed = file.size() > 0 && model_.ParseFromArray(file.data(), int(file.size()));
  if (file.damaged()) throw file_error(ExitCode::kIo, path_, "it changed while it was read");
  if (!parsed) fail("not an ONNX model, or damaged");
  if (!model_.has_graph() || model_.graph().output_size() == 0) fail("the model has no outputs");
  restore_layers(model_);
}

void ModelFile::find_opset() {
  for (const onnx::OperatorSetIdProto& set : model_.opset_import())
    if (set.domain().empty() || set.domain() == "ai.onnx") opset_ = set.version();
  if (opset_ >= kOldest && opset_ <= kNewest) return;
  fail("opset " + std::to_string(opset_) + " is not supported; " + std::to_string(kOldest) + " to " +
           std::to_string(kNewest) + " are",
       "export it with another opset, or convert it with onnx.version_converter");
}

void ModelFile::fail(const std::string& message, const std::string& hint) const {
  throw file_error(ExitCode::kNet, path_, tidy(message), tidy(hint));
}

/// Maps an external file; its path must not leave the model's folder.
const MappedFile& ModelFile::beside(const std::string& name, const std::string& tensor) const {
  auto& file = beside_[name];
  if (file) return *file;
  namespace fs = std::filesystem;
  const fs::path relative(name);
  bool inside = !name.empty() && relative.is_relative();
  for (const fs::path& part : relative) inside = inside && part != "..";
  std::error_code unknown;
  const fs::path folder = fs::canonical(fs::path(path_).parent_path() / ".", unknown),
                 whole = fs::canonical(folder / relative, unknown);
  if (inside && unknown)
    throw file_error(ExitCode::kIo, path_,
                     "tensor '" + tensor + "' is in '" + name + "', which cannot be read: " + unknown.message());
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), whole.begin(), whole.end());
  if (!inside || end != folder.end())
    fail("tensor '" + tensor + "' is in '" + name + "', outside of the model's folder",
         "move the file to the model's folder");
  file = std::make_unique<MappedFile>(whole);
  limit_by(file->size() + int64_t(model_.ByteSizeLong()));
  return *file;
}

std::string_view ModelFile::external(const onnx::TensorProto& tensor) const {
  std::string name;
  int64_t offset = 0, length = -1;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") name = entry.value();
    if (entry.key() == "offset") offset = number(entry.value());
    if (entry.key() == "length") length = number(entry.value());
  }
  const MappedFile& file = beside(name, tensor.name());
  if (length < 0) length = file.size() - offset;
  if (offset < 0 || length < 0 || offset > file.size() || length > file.size() - offset)
    fail("tensor '" + tensor.name() + "' exceeds the end of '" + name + "'");
  return {reinterpret_cast<const char*>(file.data()) + offset, size_t(length)};
}

Constant ModelFile::read(const onnx::TensorProto& tensor) const {
  const bool elsewhere = tensor.data_location() == onnx::TensorProto::EXTERNAL;
  try {
    return read_tensor(tensor, elsewhere ? external(tensor) : std::string_view(tensor.raw_data()), elsewhere);
  } catch (const FieldError& error) {
    fail("tensor '" + tensor.name() + "': " + with_field(error), error.hint());
  }
}

}  // namespace cortado::importing
