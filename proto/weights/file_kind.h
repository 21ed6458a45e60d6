#pragma once

#include <string>
#include <string_view>

namespace cortado {

/// The kind of a file. Determined by its content, because file names are unreliable.
enum class FileKind {
  kEmpty,
  kText,
  kWeights,
  kSolverState,
  kBlob,
  kHdf5,
  kSafetensors,
  kNpy,
  kNpz,
  kOnnx,
  kPicture,
  kArchive,
  kUnknown
};

/// The kind by the first bytes and, of a binary message, its outermost fields. Never throws; recognises truncated
/// files.
FileKind kind_of_content(std::string_view content);

/// The same for a file; kUnknown if it cannot be mapped (a pipe, a missing file).
FileKind kind_of_file(const std::string& path);

/// "a solver state", for messages.
std::string describe(FileKind kind);

/// "pass a solver state with --snapshot" and the like; empty without advice.
std::string advice_for(FileKind kind);

}  // namespace cortado
