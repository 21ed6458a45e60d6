#pragma once

// What of an image tells whether it is another's double, or hardly an image at all.

#include <cstdint>

#include "data/sample.h"

namespace cortado::data {

/// 64 bits of the extents and all elements: images of equal pixels have equal digests, others all but surely not. The
/// order of elements counts, so planar and interleaved samples are told apart.
uint64_t pixel_digest(const Sample& sample);

/// Whether nearly all of an image of bytes is black: its 99.9th percentile is below 16 of 255.
bool is_near_black(const Sample& sample);

}  // namespace cortado::data
