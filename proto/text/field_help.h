#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

namespace cortado {

/// The comment in cortado.proto on a field or message: the one after it, or else above it, in one line; "" if there is
/// none.
std::string help_of(const google::protobuf::FieldDescriptor& field);
std::string help_of(const google::protobuf::Descriptor& message);

}  // namespace cortado
