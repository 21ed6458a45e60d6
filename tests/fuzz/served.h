#pragma once

#include "server/models/version.h"

namespace cortado::fuzz {

/// A small model of the server, whose inputs are an image and a vector.
const server::Version& served_version();

}  // namespace cortado::fuzz
