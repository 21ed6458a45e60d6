#pragma once

// The anchors of Proposal. From the square of side base_size with its first corner at (0, 0), each ratio makes an
// anchor of the same area and centre: width round(sqrt(area / ratio)), height width times ratio, both rounded half to
// even. Each scale enlarges each of these around its centre.

#include <vector>

#include "core/box.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// In pixels, ordered by ratio, then by scale. Throws FieldError for a ratio or scale that is not above 0.
std::vector<Box> proposal_anchors(const caffe::ProposalParameter& param);

}  // namespace cortado
