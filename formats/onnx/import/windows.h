#pragma once

#include <vector>

#include "onnx/import/node_reader.h"

namespace cortado::importing {

/// The windows of a convolution or a pooling; one value for each spatial axis.
struct Window {
  std::vector<int64_t> kernel, strides, dilations;
  Padding padding;
};

/// Reads the attributes of a node with windows of this size over x, N x C x ...; resolves auto_pad. Throws Error if an
/// attribute has another number of axes or is out of range.
Window read_window(const NodeReader& node, const Shape& x, const std::vector<int64_t>& kernel);

/// Sets an option: once if it is the same for all axes, not at all if it is the default, `absent`.
void set_option(google::protobuf::RepeatedField<uint32_t>& option, const std::vector<int64_t>& values, int64_t absent);

void add_padding(Padding& padding, const Padding& more);

// Convolution layers pad both ends of an axis equally. If a model pads one end more, the padding is the larger one, and
// rows of zeros are added to the filters so that their values stay at the model's positions. The number of windows is
// the same: with the larger padding p and the smaller one q, in + 2 p - (kernel + p - q) = in + p + q - kernel.

struct EvenPadding {
  std::vector<int64_t> pad;  ///< of both ends of each spatial axis
  BlobFile filters;
};

/// Whether the zeros fit the dilations.
bool can_be_even(const Padding& padding, const std::vector<int64_t>& dilations);

/// `filters` are outputs x inputs x kernel. Throws FieldError if the zeros need too much memory.
EvenPadding make_even(const Padding& padding, const BlobFile& filters, const std::vector<int64_t>& dilations);

}  // namespace cortado::importing
