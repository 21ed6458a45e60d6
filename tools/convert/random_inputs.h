#pragma once

#include <string>

#include "core/rng.h"
#include "net/predictor.h"
#include "proto/files/read_text.h"

namespace cortado::tools {

/// Random values for an input blob of the net: normally distributed; indices for an Embed, regions where a layer pools
/// them.
Array random_array(const NetFile& file, const std::string& blob, const Shape& shape, RandomStream& rng);

}  // namespace cortado::tools
