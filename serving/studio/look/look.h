#pragma once

#include "tools/program/command.h"

namespace cortado::studio {

/// `cortado-studio look`: runs an image through a trained net and tells, as JSON on stdout, the classes, the net's
/// blobs and layers, and one of them in pictures and numbers. The studio starts it as a child, so that a net that is
/// wrong, or too large for this machine's memory, ends nothing else.
tools::Command look_command();

}  // namespace cortado::studio
