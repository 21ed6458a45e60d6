#pragma once

#include <string>

#include "layers/registry.h"

namespace google::protobuf {
class Descriptor;
}

namespace cortado::tools {

/// The message that holds a type's options, or null.
const google::protobuf::Descriptor* options_of(const LayerType& type);

/// "1", "1 to 2", "1 or more": how many bottoms or tops.
std::string range_text(int least, int most);

/// docs/layers.md: every type of this build with its options, then the messages that they share.
std::string layers_page();

}  // namespace cortado::tools
