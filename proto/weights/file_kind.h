#pragma once

#include <string>
#include <string_view>

namespace cortado {

/// What a file of the language holds. Told by its content, because names lie.
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

/// Looks at the first bytes and, of a binary message, at its outermost fields. Never throws; a truncated file is
/// recognised.
FileKind kind_of_content(std::string_view content);

/// The same of a file; kUnknown where it cannot be mapped (a pipe, no file at all).
FileKind kind_of_file(const std::string& path);

/// "a solver state", for messages.
std::string describe(FileKind kind);

/// "a solver state is given to --snapshot" and the like; empty where there is no advice.
std::string advice_for(FileKind kind);

}  // namespace cortado
