#pragma once

#include <string>

#include "studio/request.h"

namespace cortado::studio {

/// The options of a data layer for the augmentations of the page: "transform_param { ... }\n", or "" if there are none.
/// Members are "crop_size", "flip_h", "rotate", ...; 0 disables them. Throws RequestError(kInvalid) for others.
std::string transform_text(const Json& wanted);

}  // namespace cortado::studio
