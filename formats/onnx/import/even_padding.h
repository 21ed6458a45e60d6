#pragma once

// Convolutions here pad both ends of an axis alike. Where a model pads one more than the other, rows of zeros in the
// filters stand for the rest: windows then begin at the larger padding, and their filters' own values where the model's
// do. With p = max(before, behind) there are as many windows, since (in + 2 p - (kernel + p - q)) = in + p + q -
// kernel.

#include <vector>

#include "onnx/import/node_reader.h"

namespace cortado::importing {

struct EvenPadding {
  std::vector<int64_t> pad;  ///< on either end of each spatial axis
  BlobFile filters;
};

/// `filters`: outputs x inputs x kernel. Throws FieldError where dilation leaves no room for the zeros, or they would
/// take more memory than filters do.
EvenPadding make_even(const Padding& padding, const BlobFile& filters, const std::vector<int64_t>& dilations);

}  // namespace cortado::importing
