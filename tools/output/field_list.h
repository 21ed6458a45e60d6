#pragma once

// What the schema says of a message's fields, ready to be shown: the text, JSON and Markdown of `cortado layers`.

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

namespace cortado::tools {

struct FieldRow {
  std::string name, type;  ///< "kernel_size", "uint32..."; an enum's type is "enum"
  std::string fallback;    ///< as a prototxt writes it; "" is none
  std::string help;        ///< one line, an enum's values among it
};

/// The fields of a message in the order of the schema.
std::vector<FieldRow> field_rows(const google::protobuf::Descriptor& message);

/// The message of the schema that is called so ("FillerParameter"), or null.
const google::protobuf::Descriptor* schema_message(const std::string& name);
std::vector<std::string> schema_messages();  ///< the names of all, in the order of the schema

/// The messages that fields of `message` hold, directly or deeper, each once; `message` is not among them.
std::vector<const google::protobuf::Descriptor*> messages_below(const google::protobuf::Descriptor& message);

}  // namespace cortado::tools
