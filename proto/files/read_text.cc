#include "proto/files/read_text.h"

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "core/files/file.h"
#include "proto/files/binary_net.h"
#include "proto/files/relative_paths.h"
#include "proto/text/text_reader.h"
#include "proto/upgrade/upgrade.h"
#include "proto/weights/file_kind.h"
#include "proto/weights/onnx_file.h"

namespace cortado {

namespace {

constexpr size_t kReadTextMaxBytes = size_t(16) << 20;

[[noreturn]] void refuse(const std::string& name, const std::string& message, const std::string& hint) {
  throw file_error(ExitCode::kNet, name, message, hint);
}

void check_size(size_t bytes, const std::string& name) {
  if (bytes > kReadTextMaxBytes)
    refuse(name, "larger than " + std::to_string(kReadTextMaxBytes >> 20) + " MiB",
           "check that the file is a prototxt");
}

/// For a weights file or an image, reports only that, not its syntax errors as text.
void check_is_text(std::string_view text, const std::string& name) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    refuse(name, "a text in UTF-16, where a prototxt is expected", "save it as UTF-8");
  const FileKind kind = kind_of_content(text);
  const bool binary = text.find('\0') != std::string_view::npos;
  if (kind == FileKind::kText || kind == FileKind::kEmpty || (kind == FileKind::kUnknown && !binary)) return;
  refuse(name, describe(kind) + ", where a prototxt is expected", advice_for(kind));
}

template <typename Read>
Positions read_message(std::string_view text, const std::string& name, google::protobuf::Message& message,
                       const Read& read) {
  check_size(text.size(), name);
  message.Clear();
  try {
    TextReader reader(text, name);
    return read(reader);
  } catch (const Error&) {
    check_is_text(text, name);
    throw;
  }
}

Error error_of(const TextMistakes& mistakes) {
  const std::string left = std::to_string(mistakes.size() - std::min(mistakes.size(), kMaxMistakesTold));
  return Error(ExitCode::kNet, first_of(mistakes, "and " + left + " more errors"));
}

void throw_if_any(const TextMistakes& mistakes) {
  if (!mistakes.empty()) throw error_of(mistakes);
}

/// Reports errors of upgrade() with those of the text, unless they may follow from these.
template <typename Upgrade>
void upgrade_draft(const TextMistakes& mistakes, const Upgrade& upgrade) {
  try {
    upgrade();
  } catch (const Error& error) {
    Mistakes all;
    if (!mistakes.empty()) all.add(error_of(mistakes));
    if (std::all_of(mistakes.begin(), mistakes.end(), [](const TextMistake& m) { return m.layer.known(); }))
      all.add(error);
    all.throw_if_any(ExitCode::kNet);
  }
}

NetFile net_draft(std::string_view text, const std::string& name) {
  NetFile file;
  file.positions =
      read_message(text, name, file.net, [&](TextReader& reader) { return reader.read(file.net, file.mistakes); });
  upgrade_draft(file.mistakes, [&] { upgrade_net(file.net, file.positions); });
  if (file.net.relative_to_file()) file.paths_from = folder_of(name);
  resolve_paths(file.net, name);
  return file;
}

SolverFile solver_draft(std::string_view text, const std::string& name) {
  SolverFile file;
  file.positions = read_message(text, name, file.solver,
                                [&](TextReader& reader) { return reader.read(file.solver, file.mistakes); });
  upgrade_draft(file.mistakes, [&] { upgrade_solver(file.solver, file.positions); });
  if (file.solver.relative_to_file()) file.paths_from = folder_of(name);
  resolve_paths(file.solver, name);
  set_snapshot_prefix(file.solver, name);
  return file;
}

}  // namespace

std::string read_prototxt(const std::string& path) {
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(path, unknown);
  if (!unknown) check_size(size_t(bytes), path);
  return read_file_or_pipe(path);
}

NetFile read_net(const std::string& path) {
  NetFile file = read_net_draft(path);
  throw_if_any(file.mistakes);
  return file;
}

SolverFile read_solver(const std::string& path) { return read_solver_from_text(read_prototxt(path), path); }

NetFile read_net_draft(const std::string& path) {
  if (kind_of_file(path) == FileKind::kWeights) return read_binary_net(path);
  if (is_onnx_file(path)) return net_draft(read_onnx_net(path), path);
  return net_draft(read_prototxt(path), path);
}

SolverFile read_solver_draft(const std::string& path) { return read_solver_draft_as(path, path); }

NetFile read_net_draft_as(const std::string& path, const std::string& name) {
  return net_draft(read_prototxt(path), name);
}

SolverFile read_solver_draft_as(const std::string& path, const std::string& name) {
  return solver_draft(read_prototxt(path), name);
}

NetFile read_net_from_text(std::string_view text, const std::string& name) {
  NetFile file = net_draft(text, name);
  throw_if_any(file.mistakes);
  return file;
}

SolverFile read_solver_from_text(std::string_view text, const std::string& name) {
  SolverFile file = solver_draft(text, name);
  throw_if_any(file.mistakes);
  return file;
}

Positions read_message_from_text(std::string_view text, const std::string& name, google::protobuf::Message& message) {
  return read_message(text, name, message, [&](TextReader& reader) { return reader.read(message); });
}

}  // namespace cortado
