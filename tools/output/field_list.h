#pragma once

// The fields of a message of the schema, as text, JSON and Markdown of `cortado layers` show them.

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

namespace cortado::tools {

struct FieldRow {
  std::string name, type;  ///< "kernel_size", "uint32..."; an enum's type is "enum"
  std::string fallback;    ///< as in a prototxt; "": none
  std::string help;        ///< one line, with an enum's values
};

/// The fields of a message in the order of the schema.
std::vector<FieldRow> field_rows(const google::protobuf::Descriptor& message);

/// The message of the schema with this name ("FillerParameter"), or null.
const google::protobuf::Descriptor* schema_message(const std::string& name);
std::vector<std::string> schema_messages();  ///< the names of all messages, in the order of the schema

/// The messages that fields of `message` hold, directly or nested, each once, without `message` itself.
std::vector<const google::protobuf::Descriptor*> messages_below(const google::protobuf::Descriptor& message);

}  // namespace cortado::tools
