#pragma once

#include "graph/dialect/job.h"

namespace cortado::dialect {

/// The elements [from, to) of an axis; the others are silenced.
Blob cut(Job& job, const Blob& x, int axis, int64_t from, int64_t to);

/// The first h x w elements of each channel of images, by a Convolution if weights are known: slices leave tops that
/// nothing reads, which programs other than Caffe take for outputs.
Blob cropped(Job& job, const Blob& x, int64_t h, int64_t w);

}  // namespace cortado::dialect
