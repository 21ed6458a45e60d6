#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace cortado {

/// The message as a prototxt: fields in the order in which cortado.proto lists them, the usual one (a solver's
/// net first, a layer's name, type, bottoms and tops, its options last). It reads back to the same message.
std::string to_text(const google::protobuf::Message& message);

}  // namespace cortado
