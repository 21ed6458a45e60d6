#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace cortado {

/// The message as a prototxt. Fields are in the order of cortado.proto, which is the usual one: a solver's net first; a
/// layer's name, type, bottoms and tops first, its options last. Parsing the text yields the same message.
std::string to_text(const google::protobuf::Message& message);

/// The message as the field `name` of a prototxt, formatted as by hand: on one line if it fits, else with its fields on
/// lines of at most 120 columns and nested messages on lines of their own. Fields are in the order of cortado.proto.
/// Ends with a newline.
///     layer {
///       name: "ip1" type: "InnerProduct" bottom: "pool2" top: "ip1"
///       param { lr_mult: 1 } param { lr_mult: 2 }
///       inner_product_param { num_output: 500 weight_filler { type: "xavier" } }
///     }
std::string to_compact_text(const std::string& name, const google::protobuf::Message& message, size_t indent = 0);

}  // namespace cortado
