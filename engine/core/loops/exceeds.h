#pragma once

#include "core/host_device.h"

namespace cortado {

/// Whether `value` takes the place of `best` in a maximum. NaN wins over any number, so that a maximum does not hide
/// divergence.
CORTADO_HD inline bool exceeds(float value, float best) { return value > best || value != value; }

}  // namespace cortado
