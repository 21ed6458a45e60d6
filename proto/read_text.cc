#include "proto/read_text.h"

#include <filesystem>

#include "core/file.h"
#include "core/file_error.h"
#include "proto/binary_net.h"
#include "proto/file_kind.h"
#include "proto/text_reader.h"
#include "proto/upgrade.h"

namespace cortado {

namespace {

constexpr size_t kMostBytes = size_t(16) << 20;

[[noreturn]] void refuse(const std::string& name, const std::string& message, const std::string& hint) {
  throw file_error(ExitCode::kNet, name, message, hint);
}

void check_size(size_t bytes, const std::string& name) {
  if (bytes > kMostBytes) refuse(name, "larger than " + std::to_string(kMostBytes >> 20) + " MiB", "is it a prototxt?");
}

std::string read_prototxt(const std::string& path) {
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(path, unknown);
  if (!unknown) check_size(size_t(bytes), path);
  return read_file_or_pipe(path);
}

/// Whoever hands over a file of weights, or an image, wants to hear that, and not what it is like as a text.
void check_is_text(std::string_view text, const std::string& name) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    refuse(name, "a text in UTF-16, where a prototxt is expected", "save it as UTF-8");
  const FileKind kind = kind_of_content(text);
  const bool binary = text.find('\0') != std::string_view::npos;
  if (kind == FileKind::kText || kind == FileKind::kEmpty || (kind == FileKind::kUnknown && !binary)) return;
  refuse(name, describe(kind) + ", where a prototxt is expected", advice_for(kind));
}

}  // namespace

NetFile read_net(const std::string& path) {
  if (kind_of_file(path) == FileKind::kWeights) return read_binary_net(path);
  return read_net_from_text(read_prototxt(path), path);
}

SolverFile read_solver(const std::string& path) { return read_solver_from_text(read_prototxt(path), path); }

NetFile read_net_from_text(std::string_view text, const std::string& name) {
  NetFile file;
  file.positions = read_message_from_text(text, name, file.net);
  upgrade_net(file.net, file.positions);
  return file;
}

SolverFile read_solver_from_text(std::string_view text, const std::string& name) {
  SolverFile file;
  file.positions = read_message_from_text(text, name, file.solver);
  upgrade_solver(file.solver, file.positions);
  set_snapshot_prefix(file.solver, name);
  return file;
}

Positions read_message_from_text(std::string_view text, const std::string& name, google::protobuf::Message& message) {
  check_size(text.size(), name);
  message.Clear();
  try {
    return TextReader(text, name).read(message);
  } catch (const Error&) {
    check_is_text(text, name);
    throw;
  }
}

}  // namespace cortado
