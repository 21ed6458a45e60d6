#pragma once

#include "onnx/import/node_reader.h"

namespace cortado::importing {

/// What convolutions and poolings say of their windows, one number for each spatial axis.
struct Window {
  std::vector<int64_t> kernel, strides, dilations;
  Padding padding;
};

/// Of a node with windows of this size over x, N x C x ...; auto_pad is worked out. Throws Error where an attribute has
/// another number of axes, or a number that no window has.
Window read_window(const NodeReader& node, const Shape& x, const std::vector<int64_t>& kernel);

/// Writes an option once where it is the same for all axes, and not at all where it is what it is without.
void set_option(google::protobuf::RepeatedField<uint32_t>& option, const std::vector<int64_t>& values, int64_t absent);

void add_padding(Padding& padding, const Padding& more);

}  // namespace cortado::importing
