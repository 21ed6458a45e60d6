#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace cortado {

/// The message as a prototxt: fields in the order in which cortado.proto lists them, the usual one (a solver's
/// net first, a layer's name, type, bottoms and tops, its options last). It reads back to the same message.
std::string to_text(const google::protobuf::Message& message);

/// The message as the field `name` of a prototxt, as people write it: on one line where that has room, else its
/// fields on lines of at most 120 columns, messages within on lines of their own. Fields stand in the order in which
/// cortado.proto lists them. Ends with a line's end.
///     layer {
///       name: "ip1" type: "InnerProduct" bottom: "pool2" top: "ip1"
///       param { lr_mult: 1 } param { lr_mult: 2 }
///       inner_product_param { num_output: 500 weight_filler { type: "xavier" } }
///     }
std::string to_compact_text(const std::string& name, const google::protobuf::Message& message, size_t indent = 0);

}  // namespace cortado
