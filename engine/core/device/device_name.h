#pragma once

#include <string>

#include "core/device.h"

namespace cortado {

/// The way back from Device::str(): "cpu", "simulated", "cuda:0". Throws Error(kUsage).
Device device_named(const std::string& name);

}  // namespace cortado
