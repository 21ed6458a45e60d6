#pragma once

#include <string>

#include "layers/registry.h"

namespace google::protobuf {
class Descriptor;
}

namespace cortado::tools {

/// The message of a type's options, or null.
const google::protobuf::Descriptor* options_of(const LayerType& type);

/// "1", "1 to 2", "1 or more": the number of bottoms or tops.
std::string range_text(int least, int most);

/// docs/layers.md: all types of this build with their options, then the messages that they share.
std::string layers_page();

}  // namespace cortado::tools
