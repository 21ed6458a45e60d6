#pragma once

#include <vector>

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

// Convolutions here pad both ends of an axis alike. Where a model pads one more than the other, rows of zeros in the
// filters stand for the rest: windows then begin at the larger padding, and their filters' own values where the model's
// do. With p = max(before, behind) there are as many windows, since (in + 2 p - (kernel + p - q)) = in + p + q -
// kernel.

struct EvenPadding {
  std::vector<int64_t> pad;  ///< on either end of each spatial axis
  BlobFile filters;
};

/// `filters`: outputs x inputs x kernel. Throws FieldError where dilation leaves no room for the zeros, or they would
/// take more memory than filters do.
EvenPadding make_even(const Padding& padding, const BlobFile& filters, const std::vector<int64_t>& dilations);

}  // namespace cortado::importing
