#pragma once

#include "tools/program/command.h"

namespace cortado::studio {

constexpr int kMaxLookedAt = 64;  ///< images of a call

/// `cortado-studio look`: runs images through a trained net. Writes JSON to stdout: the answer for each image, the
/// net's blobs and layers, and one blob and layer as pictures and statistics. It runs as a child of the studio, so that
/// a net or an image that is invalid or too large for the memory ends only the child.
tools::Command look_command();

}  // namespace cortado::studio
