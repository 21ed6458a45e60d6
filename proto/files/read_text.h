#pragma once

#include <string>
#include <string_view>

#include "proto/cortado.pb.h"
#include "proto/text/positions.h"
#include "proto/text/text_mistake.h"

namespace cortado {

/// A net as in its file (upgraded, with all layers, with paths that are valid where the program runs:
/// relative_paths.h) and the positions of its fields.
struct NetFile {
  caffe::NetParameter net;
  Positions positions;
  TextMistakes mistakes = {};   ///< of a partial net: graph::build() throws them, with further errors
  std::string paths_from = {};  ///< with relative_to_file: the folder for paths that Overrides set
};

/// A solver as in its file (upgraded) and the positions of its fields.
struct SolverFile {
  caffe::SolverParameter solver;
  Positions positions;
  TextMistakes mistakes = {};   ///< of a partial solver
  std::string paths_from = {};  ///< as in NetFile
};

/// The text of a prototxt, from a file or a pipe. Throws Error(kIo) if it cannot be read, Error(kNet) if it is too
/// large.
std::string read_prototxt(const std::string& path);

/// Reads a prototxt. A net may also be binary, such as a .caffemodel, whose blobs are skipped (binary_net.h), or an
/// ONNX model (onnx_file.h). Throws Error(kNet) with every error found, or Error(kIo) if the file cannot be read.
NetFile read_net(const std::string& path);
SolverFile read_solver(const std::string& path);

/// The same for callers that look for further errors: fields that are unknown or have invalid values are skipped and
/// listed in the result. Throws Error(kNet) for errors after which the rest cannot be parsed.
NetFile read_net_draft(const std::string& path);
SolverFile read_solver_draft(const std::string& path);
/// The same for the text of a file that will have the name `name`.
NetFile read_net_draft_as(const std::string& path, const std::string& name);
SolverFile read_solver_draft_as(const std::string& path, const std::string& name);

/// The same for a text in memory. Messages use `name` as the file's name; it is also the base of a solver's default
/// snapshot_prefix.
NetFile read_net_from_text(std::string_view text, const std::string& name);
SolverFile read_solver_from_text(std::string_view text, const std::string& name);

/// Reads any message from text, without upgrades. Clears `message` first. Throws Error(kNet).
Positions read_message_from_text(std::string_view text, const std::string& name, google::protobuf::Message& message);

}  // namespace cortado
