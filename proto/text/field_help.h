#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

namespace cortado {

/// What cortado.proto says of a field or of a message: the comment behind it or else above it, in one line; "" where
/// there is none.
std::string help_of(const google::protobuf::FieldDescriptor& field);
std::string help_of(const google::protobuf::Descriptor& message);

}  // namespace cortado
