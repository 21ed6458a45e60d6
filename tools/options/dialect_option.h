#pragma once

// --dialect: commands that write a net can write it for another fork of Caffe, with its weights.

#include <optional>
#include <string>

#include "graph/dialect/dialect.h"
#include "proto/files/read_text.h"
#include "proto/weights/write_weights.h"
#include "tools/options/flags.h"

namespace cortado::tools {

Flag dialect_flag();
/// --weights of commands that write a net: its weights, of which a dialect needs others.
Flag dialect_weights_flag();

/// Nothing unless --dialect names a fork. Throws Error(kUsage) for --weights without it.
std::optional<dialect::Target> dialect_of(const Arguments& arguments);

/// `net`, a net of the file `source` or made of it, in the dialect. The weights are those of --weights, if given. Logs
/// what is not exact. Throws Error as dialect::rewrite() does, with places in `source`.
dialect::Rewritten in_dialect(const Arguments& arguments, dialect::Target target, caffe::NetParameter net,
                              const caffe::NetParameter& source, const Positions& positions);
dialect::Rewritten in_dialect(dialect::Target target, dialect::Subject subject, const caffe::NetParameter& source,
                              const Positions& positions);

/// With --weights, the file that the weights of the rewritten net go to: NET.caffemodel for NET.prototxt; else "".
/// Throws Error where the net goes to stdout, and where the file exists, without --force.
std::string dialect_weights_path(const Arguments& arguments, const std::string& net);

}  // namespace cortado::tools
