#pragma once

#include "server/models/version.h"

namespace cortado::fuzz {

/// A small model with an image and a vector as its inputs, as the server would have it.
const server::Version& served_version();

}  // namespace cortado::fuzz
