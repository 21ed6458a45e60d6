#pragma once

// Values that need several layers, and that several operators use.

#include <vector>

#include "onnx/import/node_reader.h"

namespace cortado::importing {

/// The elements of x with these indices along `axis`, in this order; each value is copied, whatever it is. Throws Error
/// if that selects from the batch. The indices must be in [0, x.shape[axis]).
Blob gathered(NodeReader& node, const Blob& x, int axis, const std::vector<int64_t>& indices);

/// A blob of x's shape with this value everywhere, even where x is infinite or not a number.
Blob filled(NodeReader& node, const Blob& x, float value);

/// Adds places with this value before and after an axis.
Blob surrounded(NodeReader& node, const Blob& x, int axis, int64_t before, int64_t behind, float value);

/// Replaces the vectors of x along `axis` by `matrix`, outputs x inputs, times the vectors.
Blob mapped(NodeReader& node, const Blob& x, int axis, BlobFile matrix);

/// x * scale + shift, to a power.
Blob powered(NodeReader& node, const Blob& x, float scale, float shift = 0, float power = 1);

/// Limits values to an interval.
caffe::LayerParameter clip_layer(float low, float high);

/// Exchanges the last two axes.
Blob with_last_exchanged(NodeReader& node, const Blob& x);

/// Concatenates the blobs along `axis`.
Blob joined(NodeReader& node, const std::vector<Blob>& parts, int axis);

/// The shape that both are broadcast to. Throws Error if they do not match.
Shape common_shape(const NodeReader& node, const Shape& a, const Shape& b);

/// Broadcasts x to this shape. For an axis that becomes the batch the result has any batch size.
Blob expanded(NodeReader& node, const Blob& x, const Shape& to);

/// The inputs, constants included, all broadcast to one shape.
std::vector<Blob> broadcast_inputs(NodeReader& node);

}  // namespace cortado::importing
