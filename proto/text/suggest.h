#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <vector>

namespace cortado {

/// What the author of an unknown field may have meant. `enclosing` are the messages around it, outermost first; the
/// last is the one that has no such field, read to its end. Looks for the name inside that message's own options (of
/// the layer's type first), around it, beside it, and then for the nearest name. Empty when nothing is near.
std::string suggest_field(const std::string& name, const std::vector<const google::protobuf::Message*>& enclosing);

}  // namespace cortado
