#pragma once

#include <string>
#include <string_view>

#include "proto/cortado.pb.h"
#include "proto/text/positions.h"
#include "proto/text/text_mistake.h"

namespace cortado {

/// A net as its file has it (old forms made new, no layer left out) and where each field was written.
struct NetFile {
  caffe::NetParameter net;
  Positions positions;
  TextMistakes mistakes = {};  ///< of a draft: graph::build() refuses it, with what else is wrong
};

/// A solver as its file has it (old forms made new) and where each field was written.
struct SolverFile {
  caffe::SolverParameter solver;
  Positions positions;
  TextMistakes mistakes = {};  ///< of a draft
};

/// The text of a prototxt, from a file or a pipe. Throws Error(kIo) where it cannot be read, Error(kNet) where it is
/// too large.
std::string read_prototxt(const std::string& path);

/// Reads a prototxt; a net may also be binary, a .caffemodel for instance, whose blobs are left out (binary_net.h), or
/// an ONNX model (onnx_file.h). Throws Error(kNet) with every mistake that was found, or Error(kIo) where the file
/// cannot be read.
NetFile read_net(const std::string& path);
SolverFile read_solver(const std::string& path);

/// The same for those who look for more mistakes: fields that are unknown, or have values that they cannot have, are
/// left out and told in `mistakes`. Throws Error(kNet) where so much is wrong that the rest means nothing.
NetFile read_net_draft(const std::string& path);
SolverFile read_solver_draft(const std::string& path);

/// The same for a text in memory; `name` stands for the file in messages (and gives a solver its default
/// snapshot_prefix).
NetFile read_net_from_text(std::string_view text, const std::string& name);
SolverFile read_solver_from_text(std::string_view text, const std::string& name);

/// Reads any message from text as it is, nothing upgraded. `message` is cleared first. Throws Error(kNet).
Positions read_message_from_text(std::string_view text, const std::string& name, google::protobuf::Message& message);

}  // namespace cortado
