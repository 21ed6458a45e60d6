#include "proto/weights/file_kind.h"

#include "core/error.h"
#include "core/files/mapped_file.h"
#include "formats/wire.h"
#include "proto/weights/safetensors.h"
#include "proto/weights/weights_npz.h"

namespace cortado {

namespace {

bool is_text(std::string_view content) {
  for (char c : content.substr(0, 256))
    if ((c >= 0 && c < 9) || (c > 13 && c < 32) || c == 127) return false;
  return true;
}

/// Whether it is a binary net with a name but no layers, as weights of a net without weights: its first bytes, a tag
/// and a length, may look like blanks of a text.
bool is_bare_net(std::string_view content) {
  constexpr char kNameTag = 1 << 3 | 2;
  if (content[0] != kNameTag) return false;
  try {
    const WireFile file{"", content};
    WireReader reader(file, content);
    WireField field;
    if (!reader.next(field) || !field.is(1, WireField::kBytes)) return false;
    return field.bytes.find_first_of("{:") == std::string_view::npos && !reader.next(field);
  } catch (const Error&) {
    return false;
  }
}

/// The kind by the signatures of other programs' files: no message of the schema begins so.
FileKind kind_by_signature(std::string_view content) {
  const struct {
    std::string_view start;
    FileKind kind;
  } signatures[] = {{"\x89HDF\r\n\x1a\n", FileKind::kHdf5}, {"\x89PNG\r\n\x1a\n", FileKind::kPicture},
                    {"\xff\xd8\xff", FileKind::kPicture},   {"GIF8", FileKind::kPicture},
                    {"PK\x03\x04", FileKind::kArchive},     {"\x1f\x8b\x08", FileKind::kArchive},
                    {"\x93NUMPY", FileKind::kNpy}};
  for (const auto& [start, kind] : signatures)
    if (content.starts_with(start)) return kind;
  return FileKind::kUnknown;
}

}  // namespace

// Field numbers of the messages overlap, but their first fields differ. A net starts with its name (1, bytes) or has
// layers (100, bytes). A solver state has its iteration (1, a number), and paths and histories (2, 3, bytes). A blob
// has data (5) and nothing else of these. An ONNX model has its format's version (1, a number), a graph (7, bytes), no
// data.
FileKind kind_of_content(std::string_view content) {
  if (content.empty()) return FileKind::kEmpty;
  if (looks_like_npz(content)) return FileKind::kNpz;
  if (const FileKind kind = kind_by_signature(content); kind != FileKind::kUnknown) return kind;
  if (looks_like_safetensors(content)) return FileKind::kSafetensors;
  if (is_bare_net(content)) return FileKind::kWeights;
  if (is_text(content)) return FileKind::kText;
  bool number = false, path = false, data = false, floats = false, shape = false, graph = false;
  try {
    const WireFile file{"", content};
    WireReader reader(file, content);
    for (WireField field; reader.next(field);) {
      if (field.is(100, WireField::kBytes) || field.is(1, WireField::kBytes)) return FileKind::kWeights;
      number |= field.is(1, WireField::kVarint);
      path |= field.is(2, WireField::kBytes) || field.is(3, WireField::kBytes) || field.is(1000, WireField::kBytes);
      graph |= field.is(7, WireField::kBytes);
      floats |= field.is(5, WireField::kBytes) || field.is(5, WireField::kFixed32);
      data |= field.is(5, WireField::kBytes) || field.is(5, WireField::kFixed32) || field.is(8, WireField::kBytes);
      shape |= field.is(7, WireField::kBytes) || field.is(12, WireField::kBytes);
    }
  } catch (const Error&) {  // the fields before the error decide
  }
  if (number && graph && !floats) return FileKind::kOnnx;
  if (number && path) return FileKind::kSolverState;
  if (path) return FileKind::kWeights;  // layers of 2014
  if (data || shape) return FileKind::kBlob;
  return number ? FileKind::kSolverState : FileKind::kUnknown;
}

FileKind kind_of_file(const std::string& path) {
  try {
    const MappedFile file(path);
    return kind_of_content({reinterpret_cast<const char*>(file.data()), size_t(file.size())});
  } catch (const Error&) {
    return FileKind::kUnknown;
  }
}

std::string describe(FileKind kind) {
  switch (kind) {
    case FileKind::kEmpty:
      return "an empty file";
    case FileKind::kText:
      return "a text file";
    case FileKind::kWeights:
      return "a weights file";
    case FileKind::kSolverState:
      return "a solver state";
    case FileKind::kBlob:
      return "a single blob";
    case FileKind::kHdf5:
      return "an HDF5 file";
    case FileKind::kSafetensors:
      return "a safetensors file";
    case FileKind::kNpy:
      return "a NumPy array";
    case FileKind::kNpz:
      return "NumPy arrays (.npz)";
    case FileKind::kOnnx:
      return "an ONNX model";
    case FileKind::kPicture:
      return "a picture";
    case FileKind::kArchive:
      return "a compressed archive";
    case FileKind::kUnknown:
      break;
  }
  return "a file of unknown kind";
}

std::string advice_for(FileKind kind) {
  switch (kind) {
    case FileKind::kText:
      return "pass a prototxt with --model or --solver";
    case FileKind::kWeights:
    case FileKind::kSafetensors:
    case FileKind::kNpz:
      return "pass weights with --weights";
    case FileKind::kOnnx:
      return "convert it to a net and weights with `cortado convert onnx`";
    case FileKind::kSolverState:
      return "pass a solver state with --snapshot";
    case FileKind::kBlob:
      return "name a mean image in transform_param's mean_file";
    case FileKind::kNpy:
      return "use a .npy file only for one array: a mean image, or an input of `cortado infer`";
    case FileKind::kHdf5:
      return "use HDF5 files only for weights, solver states and the data of HDF5Data layers";
    case FileKind::kArchive:
      return "unpack it; if it is a PyTorch file, save its weights as .safetensors";
    default:
      return {};
  }
}

}  // namespace cortado
