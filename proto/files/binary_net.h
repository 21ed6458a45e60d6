#pragma once

#include <string>
#include <string_view>

#include "proto/cortado.pb.h"
#include "proto/files/read_text.h"

namespace cortado {

/// The net of a binary file, old forms made new, without its blobs, so that a .caffemodel is its own deploy file.
/// Options of NVIDIA's and Intel's whose numbers mean something else in BVLC's come under their own names; of the
/// messages about data only what the dialects agree on. Throws Error(kNet) for what is no net, Error(kIo) where it
/// cannot be read.
NetFile read_binary_net(const std::string& path);
NetFile binary_net_from_bytes(std::string_view content, const std::string& path);

/// The whole message as it stands, blobs and all, for those who write it again. Throws Error(kNet) for what is no net,
/// has more parts than nets have, or is larger than generated code can read.
caffe::NetParameter parse_net(std::string_view content, const std::string& path);

}  // namespace cortado
