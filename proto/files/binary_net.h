#pragma once

#include <string>
#include <string_view>

#include "proto/cortado.pb.h"
#include "proto/files/read_text.h"

namespace cortado {

/// The net of a binary file, upgraded, without its blobs, so that a .caffemodel serves as its own deploy file. Options
/// of NVIDIA and Intel whose numbers differ in BVLC's schema are renumbered; of data options only those common to all
/// dialects are read. Throws Error(kNet) if it is not a net, Error(kIo) if it cannot be read.
NetFile read_binary_net(const std::string& path);
NetFile binary_net_from_bytes(std::string_view content, const std::string& path);

/// The whole message unchanged, blobs included, for programs that write it again. Throws Error(kNet) if it is not a
/// net, has too many parts, or is larger than generated code can parse.
caffe::NetParameter parse_net(std::string_view content, const std::string& path);

}  // namespace cortado
